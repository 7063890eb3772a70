use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{AttentionMaps, HeadId, RunError};

/// How a picture is drawn: the same in the window, in a file and from the command line.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ViewSpec {
    pub head: HeadId,
    pub colors: ColorMap,
    pub range: MapRange,
    /// The part of the map that is shown; the whole where this is `None`.
    pub crop: Option<Crop>,
}

impl ViewSpec {
    /// The name under which this head's picture is kept: `layer3-head04.png`.
    pub fn file_name(&self) -> String {
        format!("layer{}-head{:02}.png", self.head.layer, self.head.head)
    }
}

/// A part of a map: some queries and some keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crop {
    pub queries: TokenRange,
    pub keys: TokenRange,
}

impl Crop {
    /// Checks that both ranges lie within so many tokens.
    ///
    /// # Errors
    /// [`RunError::BadTokens`], which names the valid range.
    pub fn within(self, tokens: usize) -> Result<Self, RunError> {
        for range in [self.queries, self.keys] {
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

/// Which weights the ends of the colour bar stand for.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MapRange {
    /// From 0 to the head's own largest weight.
    #[default]
    Head,
    /// From 0 to the largest weight of all heads, so that pictures of different heads compare.
    All,
    /// From 0 to 1.
    Unit,
}

impl MapRange {
    pub const ALL: [Self; 3] = [Self::Head, Self::All, Self::Unit];

    /// The weight that the upper end of the colour bar stands for; never 0, so that it can divide.
    ///
    /// # Errors
    /// [`RunError::NoSuchHead`] if the maps have no such head.
    pub fn upper(self, maps: &AttentionMaps, head: HeadId) -> Result<f32, RunError> {
        let upper = match self {
            Self::Head => maps.head(head)?.iter().copied().fold(0.0, f32::max),
            Self::All => maps.max(),
            Self::Unit => 1.0,
        };
        Ok(if upper > 0.0 { upper } else { 1.0 })
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
