use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::run::{Task, Texts};

/// What an experiment measures heads by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// `self`: the cosine of a text's vector with its plain one, which is at its maximum of 1 in the plain model.
    Own,
    /// `similarity`: the cosine of the two vectors of a pair, each from a forward of its own.
    Similarity,
    /// `class:NAME`: the probability that a sequence classifier gives to a class; of a regression, its number.
    Class(String),
    /// `word:POS=PIECE`: the probability of a piece where token POS, counted from 0, is masked.
    Word { token: usize, piece: String },
    /// `loss`: how far the model's answer is from the right one, in nats; of a regression, squared. The less the better.
    Loss,
    /// `accuracy`: the share of right answers, 0 to 1.
    Accuracy,
}

impl Target {
    /// It gets worse as it grows.
    pub fn is_cost(&self) -> bool {
        *self == Self::Loss
    }

    /// It takes the right answers.
    pub fn needs_answers(&self) -> bool {
        matches!(self, Self::Loss | Self::Accuracy)
    }

    /// What the number is, for axes and labels.
    pub fn describe(&self) -> String {
        match self {
            Self::Own => "cosine with the plain vector".into(),
            Self::Similarity => "similarity of the pair".into(),
            Self::Class(name) => format!("probability of {name}"),
            Self::Word { token, piece } => format!("probability of “{piece}” at token {token}"),
            Self::Loss => "loss (nats)".into(),
            Self::Accuracy => "accuracy".into(),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own => out.write_str("self"),
            Self::Similarity => out.write_str("similarity"),
            Self::Class(name) => write!(out, "class:{name}"),
            Self::Word { token, piece } => write!(out, "word:{token}={piece}"),
            Self::Loss => out.write_str("loss"),
            Self::Accuracy => out.write_str("accuracy"),
        }
    }
}

/// “…” names no target.
#[derive(Debug, thiserror::Error)]
#[error("“{0}” is no target: take self, similarity, class:NAME, word:POS=PIECE, loss or accuracy")]
pub struct NoTarget(String);

impl FromStr for Target {
    type Err = NoTarget;

    fn from_str(text: &str) -> Result<Self, NoTarget> {
        let none = || NoTarget(text.to_owned());
        Ok(match text.split_once(':') {
            None => match text {
                "self" => Self::Own,
                "similarity" => Self::Similarity,
                "loss" => Self::Loss,
                "accuracy" => Self::Accuracy,
                _ => return Err(none()),
            },
            Some(("class", name)) if !name.is_empty() => Self::Class(name.to_owned()),
            Some(("word", rest)) => {
                let (token, piece) = rest.split_once('=').filter(|(_, piece)| !piece.is_empty()).ok_or_else(none)?;
                Self::Word { token: token.parse().map_err(|_| none())?, piece: piece.to_owned() }
            }
            _ => return Err(none()),
        })
    }
}

impl Serialize for Target {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

/// A text to measure on, with the right answer where the target needs one.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Example {
    pub texts: Texts,
    /// A class; for each `[MASK]` a piece, or for each word a class, with blanks between; the words of the answer.
    pub answer: Option<String>,
}

impl From<Texts> for Example {
    fn from(texts: Texts) -> Self {
        Self { texts, answer: None }
    }
}

impl Example {
    /// Reads a line of a file of texts: one text or, with a tab between, a pair; for targets that need it, a tab and the
    /// right answer at the end.
    ///
    /// # Errors
    /// What is missing.
    pub fn from_line(line: &str, target: &Target, main: Option<Task>) -> Result<Self, String> {
        let (texts, answer) = match target.needs_answers() {
            false => (line, None),
            true => {
                let parts = line.rsplit_once('\t');
                let (texts, answer) = parts.ok_or_else(|| {
                    format!("has no tab: the target {target} takes a text, a tab and the right answer")
                })?;
                (texts, Some(answer.trim().to_owned()))
            }
        };
        let texts = match texts.split_once('\t') {
            Some((a, b)) => Texts::pair(a, b),
            None => Texts::single(texts),
        };
        if *target == Target::Similarity && texts.b.is_none() {
            return Err("has no tab: the target similarity takes a pair a line, with a tab between".into());
        }
        if answer.is_some() && main == Some(Task::QuestionAnswering) && texts.b.is_none() {
            return Err("has one tab: question answering takes a question, a text and the answer, tabs between".into());
        }
        Ok(Self { texts, answer })
    }

    /// Texts that are given by themselves, with the right answer where the target needs one.
    ///
    /// # Errors
    /// What is missing, or not wanted.
    pub fn given(texts: Texts, answer: Option<String>, target: &Target, main: Option<Task>) -> Result<Self, String> {
        if target.needs_answers() && answer.is_none() {
            return Err(format!("the target {target} needs the right answer: give --answer"));
        }
        if !target.needs_answers() && answer.is_some() {
            return Err(format!(
                "the target {target} takes no right answer: leave --answer out, or take loss or accuracy"
            ));
        }
        let pairs = *target == Target::Similarity || answer.is_some() && main == Some(Task::QuestionAnswering);
        if pairs && texts.b.is_none() {
            return Err("this takes a pair: give --text-b as well".into());
        }
        Ok(Self { texts, answer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_read_back_as_they_are_written() {
        for text in ["self", "similarity", "class:so-so", "class:a:b", "word:4=##ing", "word:0==", "loss", "accuracy"] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        for text in ["", "Self", "class:", "word:4", "word:x=y", "word:-1=y", "word:4=", "blue:x"] {
            assert!(text.parse::<Target>().unwrap_err().to_string().contains("word:POS=PIECE"), "{text}");
        }
    }

    #[test]
    fn lines_are_texts_pairs_and_answers() {
        let read = |line: &str, target: &str, task| Example::from_line(line, &target.parse().unwrap(), task);
        let classifier = Some(Task::SequenceClassification);
        let example = |texts, answer: Option<&str>| Ok(Example { texts, answer: answer.map(str::to_owned) });
        assert_eq!(read("a b", "self", None), example(Texts::single("a b"), None));
        assert_eq!(read("a\tb", "similarity", None), example(Texts::pair("a", "b"), None));
        assert_eq!(read("a\tglad", "loss", classifier), example(Texts::single("a"), Some("glad")));
        assert_eq!(read("a\tb\tglad ", "accuracy", classifier), example(Texts::pair("a", "b"), Some("glad")));
        assert!(read("a", "similarity", None).unwrap_err().contains("no tab"));
        assert!(read("a", "loss", classifier).unwrap_err().contains("no tab"));
        assert!(read("a\tb", "loss", Some(Task::QuestionAnswering)).unwrap_err().contains("one tab"));
    }
}
