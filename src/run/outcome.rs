use std::sync::Arc;
use std::time::Duration;

use ndarray::{Array1, Array2};

use super::{AttentionMaps, Input, ModelInfo, Pooling};

/// One finished forward pass: everything that views, figures and files are made from.
#[derive(Debug, Clone)]
pub struct Run {
    pub model: Arc<ModelInfo>,
    pub input: Input,
    pub attention: AttentionMaps,
    /// The hidden state that enters layer 0, then the one that leaves each layer: `[layers + 1]` of `[token, hidden]`.
    pub hidden: Vec<Arc<Array2<f32>>>,
    /// The pooler's output `[hidden]`, where the model has a pooler.
    pub pooler_output: Option<Array1<f32>>,
    pub embedding: Embedding,
    /// Wall-clock from tokens to captured maps.
    pub elapsed: Duration,
}

/// One vector for the whole text.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding {
    /// `[hidden]`
    pub values: Array1<f32>,
    pub pooling: Pooling,
}

impl Run {
    /// The last layer's output, `[token, hidden]`.
    pub fn last_hidden_state(&self) -> Option<&Array2<f32>> {
        self.hidden.last().map(Arc::as_ref)
    }

    /// What the reader must be told about this run, most important first.
    pub fn notices(&self) -> Vec<String> {
        [self.input.unknown_notice(), self.input.cut_notice()].into_iter().flatten().collect()
    }

    /// Memory that the run's arrays take, in bytes.
    pub fn bytes(&self) -> usize {
        let hidden: usize = self.hidden.iter().map(|layer| layer.len() * size_of::<f32>()).sum();
        self.attention.bytes() + hidden
    }
}
