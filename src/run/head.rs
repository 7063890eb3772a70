use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::RunError;

/// One attention head, written `layer.head`, both counted from 0 as in Hugging Face and BertViz.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HeadId {
    pub layer: usize,
    pub head: usize,
}

impl HeadId {
    pub const fn new(layer: usize, head: usize) -> Self {
        Self { layer, head }
    }

    /// Every head of a model, layer by layer.
    pub fn all(layers: usize, heads: usize) -> impl Iterator<Item = Self> {
        (0..layers).flat_map(move |layer| (0..heads).map(move |head| Self { layer, head }))
    }

    /// Checks that the head exists in a model with so many layers and heads a layer.
    ///
    /// # Errors
    /// [`RunError::NoSuchHead`], which names the valid range.
    pub fn within(self, layers: usize, heads: usize) -> Result<Self, RunError> {
        if self.layer < layers && self.head < heads {
            Ok(self)
        } else {
            Err(RunError::NoSuchHead { head: self, layers, heads })
        }
    }
}

impl fmt::Display for HeadId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}", self.layer, self.head)
    }
}

impl FromStr for HeadId {
    type Err = RunError;

    fn from_str(text: &str) -> Result<Self, RunError> {
        let number = |part: &str| {
            // `parse` alone would take a sign.
            part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok()).flatten()
        };
        let parts = text.trim().split_once('.').and_then(|(layer, head)| Some((number(layer)?, number(head)?)));
        let (layer, head) = parts.ok_or_else(|| RunError::BadHead(text.to_owned()))?;
        Ok(Self { layer, head })
    }
}

impl TryFrom<String> for HeadId {
    type Error = RunError;

    fn try_from(text: String) -> Result<Self, RunError> {
        text.parse()
    }
}

impl From<HeadId> for String {
    fn from(head: HeadId) -> Self {
        head.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        for head in HeadId::all(12, 12) {
            assert_eq!(head.to_string().parse::<HeadId>().unwrap(), head);
        }
        assert_eq!(" 3.04 ".parse::<HeadId>().unwrap(), HeadId::new(3, 4));
    }

    #[test]
    fn refuses_what_is_no_head_in_one_sentence() {
        for text in ["", "3", "3.", ".4", "3.4.5", "-1.2", "+1.2", "a.b", "3,4", "99999999999999999999.0"] {
            let error = text.parse::<HeadId>().unwrap_err().to_string();
            assert!(error.contains("layer.head") && !error.contains('\n'), "{text:?}: {error}");
        }
    }

    #[test]
    fn names_the_range_when_outside() {
        let error = HeadId::new(9, 99).within(6, 12).unwrap_err().to_string();
        assert_eq!(error, "there is no head 9.99: this model has layers 0 to 5 and heads 0 to 11");
    }
}
