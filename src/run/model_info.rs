use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{HeadId, LoadReport, Pooling, Task, TaskInfo};

/// What a reader may know of a loaded model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// The name of its folder.
    pub name: String,
    /// Its folder, or the file of its weights in that, whichever it was opened by.
    pub folder: PathBuf,
    /// `model_type` of its config, such as `bert`.
    pub family: String,
    pub layers: usize,
    pub heads: usize,
    /// Width of the hidden state.
    pub hidden: usize,
    /// Width of one head.
    pub head_dim: usize,
    /// The longest input, special tokens included.
    pub positions: usize,
    pub vocabulary: usize,
    /// How many weights it has, the pooler included.
    pub parameters: usize,
    /// A tokenizer lies beside the weights; without one only input as numbers works.
    pub has_tokenizer: bool,
    pub has_pooler: bool,
    pub pooling: Pooling,
    /// What texts are to begin with, by its use, such as “query: ” of E5; empty for most models.
    pub prefixes: Vec<Prefix>,
    /// Heads that were cut out of the weights. They keep their numbers, and their maps are all zero.
    pub pruned: BTreeSet<HeadId>,
    /// What it was trained to answer, the main task first.
    pub tasks: Vec<TaskInfo>,
    /// The token that stands for a hidden word, where the vocabulary has one.
    pub mask: Option<MaskPiece>,
    /// The vocabulary's pieces by number, as people read them, for models that guess words; empty for others.
    pub pieces: Arc<Vec<String>>,
    /// What whoever made its folder wants its readers to know, such as that its weights are of 4 bits.
    pub note: Option<String>,
    /// What was found while its files were read.
    pub report: LoadReport,
}

/// The token that stands for a hidden word: `[MASK]` in BERT.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MaskPiece {
    pub id: u32,
    pub piece: String,
}

/// What a text is to begin with for one use of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prefix {
    /// Its use, such as `query`.
    pub name: String,
    /// `query: `
    pub text: String,
}

impl ModelInfo {
    pub fn task(&self, task: Task) -> Option<&TaskInfo> {
        self.tasks.iter().find(|info| info.task == task)
    }

    /// Its vectors are made to be compared: it declares how it pools, or has nothing else to say.
    pub fn is_sentence_model(&self) -> bool {
        self.pooling.declared || self.tasks.is_empty()
    }

    /// A token's piece by its number in the vocabulary.
    pub fn piece(&self, id: usize) -> &str {
        self.pieces.get(id).map_or("", String::as_str)
    }
}
