//! Interventions, as they are written: `3.4=zero`, `5.*=uniform`, `2.1=cut:4>7`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{HeadId, Recipe, RunError};

/// One intervention on some heads. Written `HEAD=NAME`; edits apply in the order in which they are given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Edit {
    pub heads: HeadPattern,
    pub what: Intervention,
}

/// The heads that an edit is for: `3.4` one head, `3.*` a layer, `*.4` a column, `*.*` all. `None` stands for `*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HeadPattern {
    pub layer: Option<usize>,
    pub head: Option<usize>,
}

/// What is done to a head. Of several edits of one head: the last of `uniform`, `freeze` and `patch:weights` gives the
/// weights, then every `cut` and `causal` applies, then the last of `zero`, `mean` and `patch:context` gives the
/// context, and the last `scale` scales it.
#[derive(Debug, Clone, PartialEq)]
pub enum Intervention {
    /// `zero`: the context is 0 before W_O, the same as removing the head's columns from W_O.
    Zero,
    /// `scale:g`: the context times g; 1 changes nothing.
    Scale(f32),
    /// `uniform`: attention 1/n over real tokens, special ones included (Kovaleva et al. 2019).
    Uniform,
    /// `mean`: the context replaced by its mean over this text's tokens; `mean@FILE`: by its mean over the tokens of a
    /// text file, one text a line.
    Mean(Option<PathBuf>),
    /// `freeze@SOURCE`: attention held at the pattern that it had on another text.
    Freeze(Source),
    /// `patch:weights@SOURCE`: attention taken from a run with as many tokens.
    PatchWeights(Source),
    /// `patch:context@SOURCE`: the context taken from a run with as many tokens.
    PatchContext(Source),
    /// `cut:q>k`: this edge gets no weight. `*` stands for all queries or all keys.
    Cut { query: TokenChoice, key: TokenChoice },
    /// `causal`: the head may look only at a token itself and to its left.
    Causal,
}

/// Where a held pattern comes from: a file that `headlight run` wrote, or a [`Recipe`] such as `text:SENTENCE`, which
/// is run again.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    File(PathBuf),
    Run(Box<Recipe>),
}

/// One token, counted from 0, or all of them (`*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenChoice {
    All,
    One(usize),
}

impl HeadPattern {
    pub fn covers(self, head: HeadId) -> bool {
        self.layer.is_none_or(|layer| layer == head.layer) && self.head.is_none_or(|own| own == head.head)
    }

    /// The heads that it stands for in a model with so many layers and heads a layer.
    ///
    /// # Errors
    /// [`RunError::NoSuchHead`], which names the valid range, if there are none.
    pub fn among(self, layers: usize, heads: usize) -> Result<impl Iterator<Item = HeadId>, RunError> {
        HeadId::new(self.layer.unwrap_or(0), self.head.unwrap_or(0)).within(layers, heads)?;
        Ok(HeadId::all(layers, heads).filter(move |head| self.covers(*head)))
    }
}

impl From<HeadId> for HeadPattern {
    fn from(head: HeadId) -> Self {
        Self { layer: Some(head.layer), head: Some(head.head) }
    }
}

impl TokenChoice {
    pub fn covers(self, token: usize) -> bool {
        match self {
            Self::All => true,
            Self::One(one) => one == token,
        }
    }
}

/// A number, or `*` for all.
fn star(number: Option<usize>) -> String {
    number.map_or_else(|| "*".to_owned(), |number| number.to_string())
}

fn unstar(text: &str) -> Option<Option<usize>> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text {
        "*" => Some(None),
        _ if digits => text.parse().ok().map(Some),
        _ => None,
    }
}

impl fmt::Display for HeadPattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}", star(self.layer), star(self.head))
    }
}

impl FromStr for HeadPattern {
    type Err = RunError;

    fn from_str(text: &str) -> Result<Self, RunError> {
        let parts = text.trim().split_once('.');
        let parts = parts.and_then(|(layer, head)| Some((unstar(layer)?, unstar(head)?)));
        let (layer, head) = parts.ok_or_else(|| RunError::BadHeadPattern(text.to_owned()))?;
        Ok(Self { layer, head })
    }
}

impl fmt::Display for TokenChoice {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => out.write_str("*"),
            Self::One(token) => write!(out, "{token}"),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(out, "{}", path.display()),
            Self::Run(recipe) => write!(out, "{recipe}"),
        }
    }
}

impl fmt::Display for Intervention {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero => out.write_str("zero"),
            Self::Scale(factor) => write!(out, "scale:{factor}"),
            Self::Uniform => out.write_str("uniform"),
            Self::Mean(None) => out.write_str("mean"),
            Self::Mean(Some(corpus)) => write!(out, "mean@{}", corpus.display()),
            Self::Freeze(source) => write!(out, "freeze@{source}"),
            Self::PatchWeights(source) => write!(out, "patch:weights@{source}"),
            Self::PatchContext(source) => write!(out, "patch:context@{source}"),
            Self::Cut { query, key } => write!(out, "cut:{query}>{key}"),
            Self::Causal => out.write_str("causal"),
        }
    }
}

impl fmt::Display for Edit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}={}", self.heads, self.what)
    }
}

impl FromStr for Edit {
    type Err = RunError;

    fn from_str(text: &str) -> Result<Self, RunError> {
        let bad = |cause: &str| RunError::BadEdit { text: text.to_owned(), cause: cause.to_owned() };
        let (heads, what) =
            text.split_once('=').ok_or_else(|| bad("write HEAD=NAME, as in 3.4=zero or 5.*=uniform"))?;
        Ok(Self { heads: heads.parse()?, what: intervention(what).map_err(|cause| bad(&cause))? })
    }
}

fn intervention(text: &str) -> Result<Intervention, String> {
    let (name, operand) = match text.split_once(['@', ':']) {
        // `patch:weights@SOURCE`: the name goes up to the @.
        Some(("patch", rest)) => {
            let (part, source) = rest.split_once('@').ok_or("patch takes weights@SOURCE or context@SOURCE")?;
            let source = source_of(source)?;
            return match part {
                "weights" => Ok(Intervention::PatchWeights(source)),
                "context" => Ok(Intervention::PatchContext(source)),
                _ => Err(format!("there is nothing to patch called {part}: take weights or context")),
            };
        }
        Some((name, operand)) => (name, Some(operand)),
        None => (text, None),
    };
    let alone = |what| match operand {
        None => Ok(what),
        Some(_) => Err(format!("{name} takes nothing after its name")),
    };
    match (name, operand) {
        ("zero", _) => alone(Intervention::Zero),
        ("uniform", _) => alone(Intervention::Uniform),
        ("causal", _) => alone(Intervention::Causal),
        ("mean", None) => Ok(Intervention::Mean(None)),
        ("mean", Some("")) => Err("mean@ wants the path of a text file".into()),
        ("mean", Some(path)) => Ok(Intervention::Mean(Some(path.into()))),
        ("scale", operand) => factor(operand.unwrap_or_default()).map(Intervention::Scale),
        ("freeze", operand) => source_of(operand.unwrap_or_default()).map(Intervention::Freeze),
        ("cut", operand) => edge(operand.unwrap_or_default()),
        _ => Err(format!(
            "there is no intervention {name}: take zero, scale:g, uniform, mean, mean@FILE, freeze@SOURCE, \
             patch:weights@SOURCE, patch:context@SOURCE, cut:q>k or causal"
        )),
    }
}

fn factor(text: &str) -> Result<f32, String> {
    let factor = text.parse().ok().filter(|factor: &f32| factor.is_finite());
    factor.ok_or_else(|| format!("scale wants a number, as in scale:0.5, not “{text}”"))
}

fn source_of(text: &str) -> Result<Source, String> {
    if text.starts_with("text:") || text.starts_with("run:") {
        let recipe = text.parse::<Recipe>().map_err(|error| error.to_string())?;
        return Ok(Source::Run(Box::new(recipe)));
    }
    match text {
        "" => Err("a source is a file that `headlight run` wrote, or text:SENTENCE".into()),
        path => Ok(Source::File(path.into())),
    }
}

fn edge(text: &str) -> Result<Intervention, String> {
    let ends = text.split_once('>').and_then(|(query, key)| Some((unstar(query)?, unstar(key)?)));
    let (query, key) = ends.ok_or_else(|| {
        format!("cut wants query>key, counted from 0 or * for all, as in cut:4>7 or cut:*>0, not “{text}”")
    })?;
    let choice = |end: Option<usize>| end.map_or(TokenChoice::All, TokenChoice::One);
    Ok(Intervention::Cut { query: choice(query), key: choice(key) })
}

impl TryFrom<String> for Edit {
    type Error = RunError;

    fn try_from(text: String) -> Result<Self, RunError> {
        text.parse()
    }
}

impl From<Edit> for String {
    fn from(edit: Edit) -> Self {
        edit.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_intervention_reads_back_as_it_is_written() {
        for text in [
            "3.4=zero",
            "3.*=scale:0.5",
            "*.4=scale:-2",
            "*.*=uniform",
            "0.0=mean",
            "0.0=mean@a corpus.txt",
            "1.2=freeze@run.safetensors",
            "1.2=freeze@text:The cat = the dog @ home: yes",
            "1.2=patch:weights@text:",
            "1.2=patch:weights@text:one\ttwo",
            r#"1.2=patch:context@run:{"texts":{"a":"x","b":null},"masked":[2],"edits":["3.4=zero"]}"#,
            "1.2=patch:context@x/y.safetensors",
            "2.1=cut:4>7",
            "2.1=cut:*>0",
            "2.1=cut:3>*",
            "5.11=causal",
        ] {
            let edit: Edit = text.parse().unwrap();
            assert_eq!(edit.to_string(), text);
        }
    }

    #[test]
    fn a_bad_one_is_refused_in_one_sentence_that_says_what_to_write() {
        for (text, wanted) in [
            ("3.4", "HEAD=NAME"),
            ("3=zero", "layer.head"),
            ("-1.2=zero", "layer.head"),
            ("3.4=", "there is no intervention"),
            ("3.4=explode", "take zero, scale:g"),
            ("3.4=zero:1", "takes nothing after"),
            ("3.4=scale:x", "scale wants a number"),
            ("3.4=scale", "scale wants a number"),
            ("3.4=scale:NaN", "scale wants a number"),
            ("3.4=scale:inf", "scale wants a number"),
            ("3.4=cut:4", "query>key"),
            ("3.4=cut:-1>2", "query>key"),
            ("3.4=cut:>", "query>key"),
            ("3.4=freeze", "a source is a file"),
            ("3.4=freeze@", "a source is a file"),
            ("3.4=freeze@run:{", "is no run"),
            ("3.4=patch@x", "patch takes weights@SOURCE"),
            ("3.4=patch:keys@x", "take weights or context"),
            ("3.4=patch:weights", "weights@SOURCE"),
            ("3.4=mean@", "path of a text file"),
        ] {
            let error = text.parse::<Edit>().unwrap_err().to_string();
            assert!(error.contains(wanted) && !error.contains('\n'), "{text}: {error}");
        }
    }

    #[test]
    fn a_pattern_covers_a_head_a_layer_a_column_or_all() {
        let count = |text: &str| text.parse::<HeadPattern>().unwrap().among(6, 12).map(Iterator::count);
        assert_eq!(count("3.4").unwrap(), 1);
        assert_eq!(count("3.*").unwrap(), 12);
        assert_eq!(count("*.4").unwrap(), 6);
        assert_eq!(count("*.*").unwrap(), 72);
        for outside in ["6.0", "6.*", "*.12", "9.99"] {
            let error = count(outside).unwrap_err().to_string();
            assert!(error.contains("layers 0 to 5 and heads 0 to 11"), "{error}");
        }
    }
}
