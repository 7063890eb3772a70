use std::path::PathBuf;

use crate::run::{told_cause, what_it_is};

/// Why a tokenizer could not be read or a text not be turned into tokens.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    #[error("{} holds no tokenizer: there is neither tokenizer.json, nor vocab.json with merges.txt, nor sentencepiece.bpe.model, spm.model or spiece.model, nor vocab.txt", .0.display())]
    NoTokenizer(PathBuf),
    #[error("cannot read {}: {cause}", path.display())]
    Unreadable { path: PathBuf, cause: String },
    #[error("{} is not a tokenizer that can be used: {cause}", path.display())]
    Malformed { path: PathBuf, cause: String },
    #[error("the tokenizer could not take this text: {0}")]
    Encode(String),
    #[error("“{0}” is no list of token numbers: write them with spaces between, as in 101 7592 102")]
    BadIds(String),
    #[error("token number {id} is outside the vocabulary, which has 0 to {}", vocabulary.saturating_sub(1))]
    IdOutOfRange { id: u32, vocabulary: usize },
    #[error("there is no token: give at least one number")]
    NoIds,
}

impl TextError {
    /// The same, where a file is at fault that is not what its name says, with what it is.
    #[must_use]
    pub fn told(self) -> Self {
        let Self::Malformed { path, cause } = self else { return self };
        // Two files make one tokenizer.
        let merges = path.with_file_name("merges.txt");
        if path.ends_with("vocab.json")
            && what_it_is(&path).is_none()
            && let Some(cause) = what_it_is(&merges)
        {
            return Self::Malformed { path: merges, cause };
        }
        let cause = told_cause(&path, cause);
        Self::Malformed { path, cause }
    }
}
