use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Edit, RunError, Texts};

/// What makes a run, so that it can be made again: a text, the tokens that are masked, and what is done to the heads.
///
/// Written `text:SENTENCE`, for a pair `text:SENTENCE<tab>SENTENCE`; with masks or edits `run:` and JSON.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    pub texts: Arc<Texts>,
    /// Tokens in whose place the model reads its mask, counted from 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub masked: Vec<usize>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<Edit>,
}

impl Recipe {
    /// A text as the model reads it, without masks or edits.
    pub fn plain(texts: Texts) -> Self {
        Self { texts: Arc::new(texts), ..Self::default() }
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Texts { a, b } = &*self.texts;
        let tab = a.contains('\t') || b.as_ref().is_some_and(|b| b.contains('\t'));
        if tab || !self.masked.is_empty() || !self.edits.is_empty() {
            return write!(out, "run:{}", serde_json::to_string(self).map_err(|_| fmt::Error)?);
        }
        match b {
            None => write!(out, "text:{a}"),
            Some(b) => write!(out, "text:{a}\t{b}"),
        }
    }
}

impl FromStr for Recipe {
    type Err = RunError;

    fn from_str(text: &str) -> Result<Self, RunError> {
        let bad = |cause: String| RunError::BadRecipe { text: text.to_owned(), cause };
        if let Some(json) = text.strip_prefix("run:") {
            return serde_json::from_str(json).map_err(|error| bad(error.to_string()));
        }
        let texts = text.strip_prefix("text:").ok_or_else(|| bad("it begins neither with text: nor run:".into()))?;
        Ok(Self::plain(match texts.split_once('\t') {
            None => Texts::single(texts),
            Some((a, b)) => Texts::pair(a, b),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_back_as_it_is_written() {
        let edits: Vec<Edit> = vec!["3.4=zero".parse().unwrap(), "0.0=freeze@text:x = \"y\"".parse().unwrap()];
        let texts = [Texts::single("the cat"), Texts::pair("a", "b"), Texts::single(""), Texts::single("a\ttab")];
        for texts in texts.map(Arc::new) {
            for (masked, edits) in [(vec![], vec![]), (vec![2], vec![]), (vec![], edits.clone())] {
                let recipe = Recipe { texts: texts.clone(), masked, edits };
                assert_eq!(recipe.to_string().parse::<Recipe>().unwrap(), recipe, "{recipe}");
            }
        }
        assert_eq!(Recipe::plain(Texts::pair("a", "b")).to_string(), "text:a\tb");
    }

    #[test]
    fn what_is_no_run_is_refused() {
        for text in ["", "x", "run:", "run:{}", "run:{\"texts\":{\"a\":\"x\",\"b\":null},\"more\":1}"] {
            let error = text.parse::<Recipe>().unwrap_err().to_string();
            assert!(error.contains("is no run") && !error.contains('\n'), "{error}");
        }
    }
}
