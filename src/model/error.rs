use std::path::PathBuf;

use crate::run::{RunError, Task, told_cause};
use crate::text::TextError;

/// Why a model could not be opened or run.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    #[error(
        "there is no model “{name}”: it was sought in {}; `headlight models` lists what is found, `cargo xtask setup` fetches the default",
        places(sought)
    )]
    NotFound { name: String, sought: Vec<PathBuf> },
    #[error("{} is no model: it has no config.json", .0.display())]
    NoConfig(PathBuf),
    #[error(
        "{} has no weights: there is neither model.safetensors nor pytorch_model.bin, whole or in shards with an index{}",
        folder.display(),
        listed(others)
    )]
    NoWeights {
        folder: PathBuf,
        /// Files that hold weights in another form, or under another name, each with what is to be said of it.
        others: Vec<String>,
    },
    #[error("cannot read {}: {cause}", path.display())]
    Unreadable { path: PathBuf, cause: String },
    #[error("{} cannot be used: {cause}", path.display())]
    BadConfig { path: PathBuf, cause: String },
    #[error("{} is no file of weights that can be used: {cause}", path.display())]
    BadWeights { path: PathBuf, cause: String },
    #[error("the weight {0} is missing from the checkpoint")]
    MissingWeight(String),
    #[error("the weight {name} has shape {found:?}, but config.json asks for {wanted:?}")]
    WrongShape { name: String, found: Vec<usize>, wanted: Vec<usize> },
    #[error("the weight {name} is stored as {dtype}, which is no floating-point kind")]
    WrongKind { name: String, dtype: String },
    #[error("the input has {found} tokens, but this model has positions for {limit}")]
    TooLong { found: usize, limit: usize },
    #[error("the input has no token")]
    Empty,
    #[error("the numbers of the input have no place in the model: {0}")]
    BadInput(String),
    #[error("this model has no tokenizer beside its weights, so it takes only token numbers (--ids)")]
    NoTokenizer,
    #[error("{} cannot be taken from: {cause}", path.display())]
    BadSource { path: PathBuf, cause: String },
    #[error(
        "a model of the family {family} cannot be pruned: its layers share their weights, so that removing a head from \
         one layer would remove it from all"
    )]
    SharedLayers { family: String },
    #[error(
        "a pruned model of the family {family} has no compact form that other programs know: take the same shape (--same-shape)"
    )]
    NoCompactForm { family: String },
    #[error("cannot write {}: {cause}", path.display())]
    CannotPrune { path: PathBuf, cause: String },
    #[error("this model has no head for {}", .0.name())]
    NoTask(Task),
    #[error("this model gives no sentence vector, and so no similarity: {0}")]
    NoVector(String),
    #[error("this model's vocabulary has no mask, such as [MASK]")]
    NoMask,
    /// An experiment that this model or this text cannot serve, in a sentence.
    #[error("{0}")]
    Unfit(String),
    #[error(
        "the tokenizer knows {tokenizer} pieces, but the model has vectors for {model}: they do not belong together"
    )]
    Vocabulary { tokenizer: usize, model: usize },
    #[error(
        "“{piece}” is added by the tokenizer's files as number {id}, but the model has vectors for 0 to {} alone: leave it out of the text, or give the model a vector for it",
        vocabulary.saturating_sub(1)
    )]
    TokenWithoutVector { piece: String, id: u32, vocabulary: usize },
    #[error("no model is open")]
    NotLoaded,
    /// A probe asked for the pass to stop between two layers.
    #[error("stopped")]
    Stopped,
    #[error("libtorch: {}", first_line(.0))]
    Torch(#[from] tch::TchError),
    #[error(transparent)]
    Text(#[from] TextError),
    #[error(transparent)]
    Run(#[from] RunError),
}

impl ModelError {
    /// The same, where a file is at fault that is not what its name says, with what it is.
    pub(super) fn told(self) -> Self {
        match self {
            Self::BadConfig { path, cause } => {
                let cause = told_cause(&path, cause);
                Self::BadConfig { path, cause }
            }
            Self::BadWeights { path, cause } => {
                let cause = told_cause(&path, cause);
                Self::BadWeights { path, cause }
            }
            Self::Text(error) => Self::Text(error.told()),
            other => other,
        }
    }
}

fn listed(others: &[String]) -> String {
    if others.is_empty() { String::new() } else { format!("; there is {}", others.join(", ")) }
}

fn places(sought: &[PathBuf]) -> String {
    sought.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" and ")
}

/// libtorch's messages go on with a C++ backtrace.
fn first_line(error: &tch::TchError) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}
