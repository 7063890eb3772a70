//! How a map is read: by pieces or words, with or without markers, one segment's part, one head or several.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{HeadId, RunError, Segment};

/// What of a map is looked at, and in what units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Reading {
    pub units: Units,
    pub specials: Specials,
    pub segments: Segments,
}

impl Reading {
    /// Every token is in the picture.
    pub fn is_all(self) -> bool {
        self.specials == Specials::Show && self.segments == Segments::All
    }
}

/// What one row or column stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Units {
    /// A token.
    #[default]
    Pieces,
    /// A word: attention to it is the sum over its pieces, attention from it the mean (Clark et al. 2019).
    Words,
}

impl Units {
    pub const ALL: [Self; 2] = [Self::Pieces, Self::Words];

    /// As it is written on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pieces => "pieces",
            Self::Words => "words",
        }
    }
}

/// What becomes of markers such as `[CLS]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Specials {
    #[default]
    Show,
    /// Their rows and columns are left out; the other weights stay, so that rows no longer sum to 1.
    Hide,
    /// Their rows and columns are left out, and the weights that are left in a row are divided by their sum.
    Renormalise,
}

impl Specials {
    pub const ALL: [Self; 3] = [Self::Show, Self::Hide, Self::Renormalise];

    /// As it is written on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Show => "show",
            Self::Hide => "hide",
            Self::Renormalise => "renormalise",
        }
    }
}

/// Which part of a pair's map is looked at: whose queries, and whose keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Segments {
    #[default]
    All,
    AToA,
    AToB,
    BToA,
    BToB,
}

impl Segments {
    pub const ALL: [Self; 5] = [Self::All, Self::AToA, Self::AToB, Self::BToA, Self::BToB];

    /// As it is written on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::AToA => "a-to-a",
            Self::AToB => "a-to-b",
            Self::BToA => "b-to-a",
            Self::BToB => "b-to-b",
        }
    }

    /// Whose queries are looked at; `None` for all.
    pub fn queries(self) -> Option<Segment> {
        match self {
            Self::All => None,
            Self::AToA | Self::AToB => Some(Segment::A),
            Self::BToA | Self::BToB => Some(Segment::B),
        }
    }

    /// Whose keys are looked at; `None` for all.
    pub fn keys(self) -> Option<Segment> {
        match self {
            Self::All => None,
            Self::AToA | Self::BToA => Some(Segment::A),
            Self::AToB | Self::BToB => Some(Segment::B),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::AToA => "A → A",
            Self::AToB => "A → B",
            Self::BToA => "B → A",
            Self::BToB => "B → B",
        }
    }
}

/// How colours follow weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ColorScale {
    #[default]
    Linear,
    /// By the square root, so that small weights show.
    Sqrt,
    /// By the logarithm, over four powers of ten.
    Log,
    /// Each row divided by its own greatest weight.
    ByRow,
    /// By rank among the weights above 0 of the whole map: half of them take the lower half of the colours.
    Percentile,
}

impl ColorScale {
    pub const ALL: [Self; 5] = [Self::Linear, Self::Sqrt, Self::Log, Self::ByRow, Self::Percentile];

    /// As it is written on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Sqrt => "sqrt",
            Self::Log => "log",
            Self::ByRow => "by-row",
            Self::Percentile => "percentile",
        }
    }

    /// The colours' upper end is set by the map itself, so that no range of weights has a part in it.
    pub fn is_relative(self) -> bool {
        matches!(self, Self::ByRow | Self::Percentile)
    }

    /// What the lower end of a logarithmic scale is, as a share of the upper end.
    pub const LEAST: f32 = 1e-4;

    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Sqrt => "square root",
            Self::Log => "logarithmic",
            Self::ByRow => "by row",
            Self::Percentile => "percentile",
        }
    }

    /// Where a value stands between 0 and `upper`, as a share of the colours; by row and by percentile, where it stands
    /// once it is a share of its row's greatest, or a rank.
    pub fn share(self, value: f32, upper: f32) -> f32 {
        let linear = value / upper;
        match self {
            Self::Linear | Self::ByRow | Self::Percentile => linear,
            Self::Sqrt => linear.max(0.0).sqrt(),
            Self::Log if linear <= Self::LEAST => 0.0,
            Self::Log => 1.0 - linear.ln() / Self::LEAST.ln(),
        }
    }
}

macro_rules! written_as_a_word {
    ($($kind:ty),*) => {$(
        impl FromStr for $kind {
            type Err = RunError;

            fn from_str(text: &str) -> Result<Self, RunError> {
                let refused = || RunError::NoSuchWord { text: text.to_owned(), known: Self::ALL.map(Self::word).to_vec() };
                Self::ALL.into_iter().find(|one| one.word() == text).ok_or_else(refused)
            }
        }
    )*};
}

written_as_a_word!(Units, Specials, Segments, ColorScale);

/// Several heads as one map, written `mean:0.1,3.4` or `max:0.1,3.4`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pooled {
    pub by: PoolBy,
    /// At least one.
    pub heads: Vec<HeadId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PoolBy {
    #[default]
    Mean,
    Max,
}

impl PoolBy {
    pub fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Max => "max",
        }
    }
}

impl fmt::Display for Pooled {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heads: Vec<String> = self.heads.iter().map(HeadId::to_string).collect();
        write!(out, "{}:{}", self.by.name(), heads.join(","))
    }
}

impl FromStr for Pooled {
    type Err = RunError;

    fn from_str(text: &str) -> Result<Self, RunError> {
        let refused = || RunError::BadPooled(text.to_owned());
        let (by, heads) = text.trim().split_once(':').ok_or_else(refused)?;
        let by = [PoolBy::Mean, PoolBy::Max].into_iter().find(|one| one.name() == by).ok_or_else(refused)?;
        Ok(Self { by, heads: heads.split(',').map(str::parse).collect::<Result<_, _>>()? })
    }
}

impl TryFrom<String> for Pooled {
    type Error = RunError;

    fn try_from(text: String) -> Result<Self, RunError> {
        text.parse()
    }
}

impl From<Pooled> for String {
    fn from(pooled: Pooled) -> Self {
        pooled.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_meet_at_both_ends() {
        for scale in ColorScale::ALL {
            assert_eq!((scale.share(0.0, 0.5), scale.share(0.5, 0.5)), (0.0, 1.0), "{scale:?}");
        }
        assert_eq!(ColorScale::Sqrt.share(0.125, 0.5), 0.5);
        assert!((ColorScale::Log.share(0.005, 0.5) - 0.5).abs() < 1e-6);
    }

    #[test]
    fn pooled_heads_read_what_they_write() {
        for text in ["mean:0.1", "max:0.1,3.4"] {
            assert_eq!(text.parse::<Pooled>().unwrap().to_string(), text);
        }
        for text in ["", "mean", "sum:0.1", "mean:", "mean:0.1,,0.2"] {
            assert!(!text.parse::<Pooled>().unwrap_err().to_string().contains('\n'), "{text}");
        }
    }
}
