use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{ColorScale, HeadId, Pooled, Reading, RunError};

/// How a picture is drawn: the same in the window, in a file and from the command line.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ViewSpec {
    pub head: HeadId,
    /// Several heads that are shown as one map in place of [`head`](Self::head).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pooled: Option<Pooled>,
    pub reading: Reading,
    pub colors: ColorMap,
    pub scale: ColorScale,
    pub range: MapRange,
    /// The part of the map that is shown, in rows and columns as they are read; the whole where this is `None`.
    pub crop: Option<Crop>,
}

impl ViewSpec {
    /// The name under which this picture is kept: `layer3-head04.png`.
    pub fn file_name(&self) -> String {
        match &self.pooled {
            Some(pooled) => format!("{}-of-{}-heads.png", pooled.by.name(), pooled.heads.len()),
            None => format!("layer{}-head{:02}.png", self.head.layer, self.head.head),
        }
    }

    /// The heads that are shown.
    pub fn heads(&self) -> &[HeadId] {
        self.pooled.as_ref().map_or(std::slice::from_ref(&self.head), |pooled| &pooled.heads)
    }
}

/// A part of a map: some queries and some keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crop {
    pub queries: TokenRange,
    pub keys: TokenRange,
}

impl Crop {
    /// Checks that both ranges lie within so many rows and columns.
    ///
    /// # Errors
    /// [`RunError::BadTokens`], which names the valid range.
    pub fn within(self, rows: usize, columns: usize) -> Result<Self, RunError> {
        for (range, tokens) in [(self.queries, rows), (self.keys, columns)] {
            if range.start >= range.end || range.end > tokens {
                return Err(RunError::BadTokens { range, tokens });
            }
        }
        Ok(self)
    }
}

/// Neighbouring tokens, written `3..10`: counted from 0, the last one not included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRange {
    pub start: usize,
    pub end: usize,
}

impl TokenRange {
    pub fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

impl fmt::Display for TokenRange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}..{}", self.start, self.end)
    }
}

impl FromStr for TokenRange {
    type Err = RunError;

    fn from_str(text: &str) -> Result<Self, RunError> {
        let ends = text.trim().split_once("..");
        let ends = ends.and_then(|(start, end)| Some((start.parse().ok()?, end.parse().ok()?)));
        let (start, end) = ends.ok_or_else(|| RunError::NoTokenRange(text.to_owned()))?;
        Ok(Self { start, end })
    }
}

/// Which weight the upper end of the colour bar stands for; the lower end is 0.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MapRange {
    /// The largest weight of what is shown.
    #[default]
    Head,
    /// The largest weight of all heads in its layer.
    Layer,
    /// The largest weight of all heads, so that pictures of different heads compare.
    All,
    /// 1.
    Unit,
    /// This weight, above 0.
    Fixed(f32),
}

impl fmt::Display for MapRange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Head => out.write_str("head"),
            Self::Layer => out.write_str("layer"),
            Self::All => out.write_str("all"),
            Self::Unit => out.write_str("unit"),
            Self::Fixed(upper) => write!(out, "{upper}"),
        }
    }
}

impl FromStr for MapRange {
    type Err = RunError;

    fn from_str(text: &str) -> Result<Self, RunError> {
        let known = [Self::Head, Self::Layer, Self::All, Self::Unit].into_iter();
        let fixed = || text.parse().ok().filter(|upper: &f32| upper.is_finite() && *upper > 0.0).map(Self::Fixed);
        let named = known.into_iter().find(|range| range.to_string() == text.trim());
        named.or_else(fixed).ok_or_else(|| RunError::BadRange(text.to_owned()))
    }
}

/// A sequential colour map, from no weight to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum ColorMap {
    /// ColorBrewer's yellow, green, blue.
    #[default]
    YlGnBu,
    Viridis,
    Magma,
    Cividis,
    Greys,
}

impl ColorMap {
    pub const ALL: [Self; 5] = [Self::YlGnBu, Self::Viridis, Self::Magma, Self::Cividis, Self::Greys];

    pub fn name(self) -> &'static str {
        match self {
            Self::YlGnBu => "YlGnBu",
            Self::Viridis => "viridis",
            Self::Magma => "magma",
            Self::Cividis => "cividis",
            Self::Greys => "greys",
        }
    }
}

impl fmt::Display for ColorMap {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for ColorMap {
    type Err = RunError;

    fn from_str(text: &str) -> Result<Self, RunError> {
        Self::ALL
            .into_iter()
            .find(|map| map.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| RunError::BadColorMap { text: text.to_owned(), known: Self::ALL.map(Self::name).to_vec() })
    }
}
