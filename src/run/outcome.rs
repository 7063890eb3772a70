use std::sync::Arc;
use std::time::Duration;

use ndarray::{Array1, Array2, Array3};

use super::{AttentionMaps, Edit, HeadId, Input, Intervention, ModelInfo, Pooling, Recipe, Task, TaskOutput, ViewSpec};

/// One finished forward pass: everything that views, figures and files are made from.
#[derive(Debug, Clone)]
pub struct Run {
    pub model: Arc<ModelInfo>,
    pub input: Input,
    /// The weights as they were applied, after all edits.
    pub attention: AttentionMaps,
    /// The model's own weights, given what reached each layer, before the edits of that layer; `None` for a plain run.
    pub computed: Option<AttentionMaps>,
    /// What was done to the heads.
    pub edits: Vec<Edit>,
    /// Edits that were left out, and how well frozen patterns fit this text.
    pub remarks: Vec<String>,
    /// What each head hands on as applied, one `[head, token, head_dim]` a layer.
    pub context: Vec<Arc<Array3<f32>>>,
    /// The hidden state that enters layer 0, then the one that leaves each layer: `[layers + 1]` of `[token, hidden]`.
    pub hidden: Vec<Arc<Array2<f32>>>,
    /// The pooler's output `[hidden]`, where the model has a pooler.
    pub pooler_output: Option<Array1<f32>>,
    /// `None` where the model's way to a vector cannot be followed: its [`Pooling`] says why.
    pub embedding: Option<Embedding>,
    /// What the model's task heads answer, the main one first. A masked language model answers for masked tokens alone.
    pub outputs: Vec<TaskOutput>,
    /// Wall-clock from tokens to captured maps.
    pub elapsed: Duration,
}

/// One vector for the whole text.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding {
    /// As many numbers as the model's last module gives, mostly `[hidden]`.
    pub values: Array1<f32>,
    pub pooling: Pooling,
}

/// Why a head says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silence {
    /// It was cut out of the weights; its map is all zero.
    Pruned,
    /// What it hands on is switched off by an edit.
    Off,
}

impl Run {
    /// Why a head says nothing in this run, if that is so.
    pub fn silence(&self, head: HeadId) -> Option<Silence> {
        if self.model.pruned.contains(&head) {
            return Some(Silence::Pruned);
        }
        let own = || self.edits.iter().filter(|edit| edit.heads.covers(head)).map(|edit| &edit.what);
        // Of several edits the last gives the context, and the last scale scales it.
        let context = own()
            .rfind(|what| matches!(what, Intervention::Zero | Intervention::Mean(_) | Intervention::PatchContext(_)));
        let scale = own().rfind(|what| matches!(what, Intervention::Scale(_)));
        let off = context == Some(&Intervention::Zero) || scale == Some(&Intervention::Scale(0.0));
        off.then_some(Silence::Off)
    }

    /// The view with the heads that are drawn in it: of several that are shown as one, those that say something. Where
    /// none does, it stays as it is.
    pub fn as_drawn(&self, view: &ViewSpec) -> ViewSpec {
        let mut drawn = view.clone();
        if let Some(pooled) = &mut drawn.pooled {
            pooled.heads.retain(|head| self.silence(*head).is_none());
            if pooled.heads.is_empty() {
                return view.clone();
            }
        }
        drawn
    }

    /// The last layer's output, `[token, hidden]`.
    pub fn last_hidden_state(&self) -> Option<&Array2<f32>> {
        self.hidden.last().map(Arc::as_ref)
    }

    /// What makes this run again.
    pub fn recipe(&self) -> Recipe {
        let masked = self.input.masked.iter().map(|masked| masked.token).collect();
        Recipe { texts: self.input.texts.clone(), masked, edits: self.edits.clone() }
    }

    /// What a task head answers.
    pub fn output(&self, task: Task) -> Option<&TaskOutput> {
        self.outputs.iter().find(|output| output.task == task)
    }

    /// What the reader must be told about this run, most important first.
    pub fn notices(&self) -> Vec<String> {
        let notices =
            [self.input.unknown().map(|unknown| unknown.notice()), self.input.cut_notice()].into_iter().flatten();
        notices.chain(self.remarks.iter().cloned()).collect()
    }
}
