use std::path::PathBuf;

use super::{HeadId, TokenRange};

/// What can be wrong with plain run data.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("“{0}” is no head: write layer.head, both counted from 0, as in 3.4")]
    BadHead(String),
    #[error("“{text}” is none of {}", known.join(", "))]
    NoSuchWord { text: String, known: Vec<&'static str> },
    #[error("“{0}” pools no heads: write mean: or max: and heads, as in mean:0.1,3.4")]
    BadPooled(String),
    #[error("“{0}” is no range of colours: write head, layer, all, unit, or the weight at the upper end, as in 0.5")]
    BadRange(String),
    #[error("“{0}” names no heads: write layer.head with * for all, as in 3.4, 3.*, *.4 or *.*")]
    BadHeadPattern(String),
    #[error("“{text}” is no edit: {cause}")]
    BadEdit { text: String, cause: String },
    #[error("there is no head {head}: this model has layers 0 to {} and heads 0 to {}", layers.saturating_sub(1), heads.saturating_sub(1))]
    NoSuchHead { head: HeadId, layers: usize, heads: usize },
    #[error("{edit} names token {token}, but this text has tokens 0 to {}", tokens.saturating_sub(1))]
    NoSuchToken { edit: String, token: usize, tokens: usize },
    #[error(
        "token {token} cannot be masked: this text has tokens 0 to {}, and markers such as [CLS] stay",
        tokens.saturating_sub(1)
    )]
    NoTokenToMask { token: usize, tokens: usize },
    #[error("head {0} was pruned from this model: there is nothing left of it to be edited")]
    PrunedHead(HeadId),
    #[error("“{text}” is no run: {cause}")]
    BadRecipe { text: String, cause: String },
    #[error("{edit} takes from a run of {source_tokens} tokens, but this text has {tokens}: patching needs as many")]
    OtherLength { edit: String, source_tokens: usize, tokens: usize },
    #[error("attention maps of {heads} heads and {tokens} × {tokens} tokens were expected, not {found:?}")]
    BadMapShape { found: (usize, usize, usize), heads: usize, tokens: usize },
    #[error("“{0}” is no range of tokens: write first..end, counted from 0, as in 3..10")]
    NoTokenRange(String),
    #[error("there are no tokens {range}: this picture has 0..{tokens}")]
    BadTokens { range: TokenRange, tokens: usize },
    #[error("“{text}” is no colour map: choose one of {}", known.join(", "))]
    BadColorMap { text: String, known: Vec<&'static str> },
    #[error("cannot read {}: {cause}", path.display())]
    CannotRead { path: PathBuf, cause: String },
    #[error("cannot write {}: {cause}", path.display())]
    CannotWrite { path: PathBuf, cause: String },
    #[error("what reads from {} has gone", .0.display())]
    ReaderGone(PathBuf),
    #[error("the run cannot be stored: {0}")]
    NotStored(String),
}

/// What a panic said, where it said something.
pub fn panic_text(panic: &(dyn std::any::Any + Send)) -> Option<&str> {
    panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied())
}

/// A cause chain as one line: the form in which every failure reaches the command line and the window.
pub fn one_line(error: &(dyn std::error::Error + 'static)) -> String {
    let mut line = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if !line.contains(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
        source = cause.source();
    }
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
