use std::path::Path;

use tch::Tensor;

use super::checkpoint::{Checkpoint, LayerNorm, LoadWatch, Seen, Weights};
use super::family::{Parts, settings};
use super::find::folder_of;
use super::layer::{Layer, Pace, Scratch};
use super::tasks::{Pooler, TaskHead};
use super::{Batch, Config, ModelError, Probe, Site};
use crate::run::{LoadReport, Task, TaskInfo};

/// An encoder of one of the known families: embeddings, layers of self-attention and feed-forward, a pooler and task
/// heads if present.
#[derive(Debug)]
pub struct Encoder {
    config: Config,
    parts: Parts,
    report: LoadReport,
}

impl Encoder {
    /// Reads `config.json` and the weights from a Hugging Face model folder: `model.safetensors` or `pytorch_model.bin`,
    /// whole or in shards.
    ///
    /// # Errors
    /// [`ModelError`] that names the file, key or weight at fault.
    pub fn load(folder: &Path) -> Result<Self, ModelError> {
        Self::load_watched(folder, &|_, _| Ok(()))
    }

    /// As [`load`](Self::load); `watch` hears how many bytes of how many have been read, and its error ends the loading.
    pub(super) fn load_watched(folder: &Path, watch: LoadWatch<'_>) -> Result<Self, ModelError> {
        let (family, stored, config) = Config::with_stored(folder).map_err(ModelError::told)?;
        let base = family.base();
        let checkpoint = Checkpoint::open(folder)?.unwrapped(family.anchor, &base)?;
        let seen = Seen::new(&checkpoint, watch);
        let parts = (family.load)(&Weights::new(&checkpoint, family.anchor, &base, &seen), &config, &stored)?;
        let there: Vec<Task> = parts.tasks.iter().map(|head| head.info.task).collect();
        let mut report = seen.report(&checkpoint, config.task(), &there);
        config
            .family_by
            .check(&config.family, &report.unused)
            .map_err(|cause| ModelError::BadConfig { path: folder_of(folder).join("config.json"), cause })?;
        report.settings.extend(config.family_by.remark(&config.family));
        report.settings.extend(settings::remarks(family.settings, &stored));
        Ok(Self { config, parts, report })
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    pub fn has_pooler(&self) -> bool {
        self.parts.pooler.is_some()
    }

    /// What was found while its weights were read.
    pub fn report(&self) -> &LoadReport {
        &self.report
    }

    /// The task heads, the main one first.
    pub fn tasks(&self) -> impl Iterator<Item = &TaskInfo> {
        self.parts.tasks.iter().map(|head| &head.info)
    }

    /// A task head's logits from the last hidden state `[batch, token, hidden]`: `[batch, token, class]` for the tokens
    /// that are asked for, or `[batch, class]` from a head that answers for the whole text. It follows the thread's
    /// grad mode.
    ///
    /// # Errors
    /// [`ModelError::NoTask`] if the model has no such head.
    pub fn answer(&self, task: Task, last: &Tensor, tokens: Option<&[usize]>) -> Result<Tensor, ModelError> {
        let head = self.parts.tasks.iter().find(|head| head.info.task == task).ok_or(ModelError::NoTask(task))?;
        head.answer(last, tokens, self.parts.pooler.as_ref())
    }

    /// The part of a layer's output projection W_O that takes in what one head hands on, `[hidden, head_dim]`; `place` is
    /// the head's place among those that are left.
    ///
    /// # Errors
    /// [`ModelError::Torch`] if there is no such head.
    pub fn head_output(&self, layer: usize, place: i64) -> Result<Tensor, ModelError> {
        let layer = self.parts.order.get(layer).and_then(|layer| self.parts.layers.get(*layer));
        layer.ok_or(ModelError::Empty)?.attention.output_of(place)
    }

    /// How many weights the encoder has, the pooler and task heads included.
    pub fn parameters(&self) -> usize {
        let parts = &self.parts;
        parts.embeddings.parameters()
            + parts.layers.iter().map(Layer::parameters).sum::<usize>()
            + parts.final_norm.as_ref().map_or(0, LayerNorm::parameters)
            + parts.pooler.as_ref().map_or(0, Pooler::parameters)
            + parts.shared
            + parts.tasks.iter().map(TaskHead::parameters).sum::<usize>()
    }

    /// The whole forward pass: the last hidden state, `[batch, token, hidden]`.
    ///
    /// # Errors
    /// [`ModelError`] if the input does not fit the model, a probe fails or stops the pass, or libtorch fails.
    pub fn forward(&self, batch: &Batch, probe: &mut dyn Probe) -> Result<Tensor, ModelError> {
        let hidden = self.embed(batch)?;
        self.forward_from(0, hidden, batch, probe)
    }

    /// The embeddings' output, `[batch, token, hidden]`: what enters layer 0.
    ///
    /// # Errors
    /// [`ModelError`] if the input is too long or holds numbers that the tables do not have.
    pub fn embed(&self, batch: &Batch) -> Result<Tensor, ModelError> {
        let _no_grad = tch::no_grad_guard();
        let config = &self.config;
        if batch.padded() > config.positions {
            return Err(ModelError::TooLong { found: batch.padded(), limit: config.positions });
        }
        if batch.largest_id >= config.vocabulary as i64 {
            return Err(ModelError::BadInput(format!(
                "token number {} with a vocabulary of {}",
                batch.largest_id, config.vocabulary
            )));
        }
        if self.parts.embeddings.has_types() && batch.largest_type >= config.types as i64 {
            return Err(ModelError::BadInput(format!(
                "segment {} with {} token types; this model takes no pairs",
                batch.largest_type, config.types
            )));
        }
        self.parts.embeddings.forward(batch)
    }

    /// The forward pass from a layer on, with the hidden state `[batch, token, hidden]` that enters it.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn forward_from(
        &self,
        layer: usize,
        hidden: Tensor,
        batch: &Batch,
        probe: &mut dyn Probe,
    ) -> Result<Tensor, ModelError> {
        // The pass writes into buffers, which autograd could not follow.
        let _no_grad = tch::no_grad_guard();
        self.pass(layer, hidden, batch, Pace::Fast, probe)
    }

    /// The whole forward pass without buffers, so that gradients can be taken of what a probe brings in. It follows the
    /// thread's grad mode, and is slower and takes more memory than [`forward`](Self::forward).
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn forward_differentiable(&self, batch: &Batch, probe: &mut dyn Probe) -> Result<Tensor, ModelError> {
        let hidden = self.embed(batch)?;
        self.pass(0, hidden, batch, Pace::Differentiable, probe)
    }

    fn pass(
        &self,
        first: usize,
        mut hidden: Tensor,
        batch: &Batch,
        pace: Pace,
        probe: &mut dyn Probe,
    ) -> Result<Tensor, ModelError> {
        let mut scratch = Scratch::new(batch, &self.config, pace)?;
        for (index, &layer) in self.parts.order.iter().enumerate().skip(first) {
            probe.enter(index, &hidden)?;
            hidden = self.parts.layers[layer].forward(index, &hidden, batch, &mut scratch, probe)?;
            if index + 1 == self.parts.order.len()
                && let Some(norm) = &self.parts.final_norm
            {
                hidden = norm.forward(&hidden)?;
            }
            hidden = probe.visit(index, Site::Hidden, hidden)?;
        }
        Ok(hidden)
    }

    /// The pooler's output `[batch, hidden]` from the last hidden state `[batch, token, hidden]`: tanh of a linear
    /// layer on the first token. `None` where the model has no pooler. It follows the thread's grad mode.
    ///
    /// # Errors
    /// [`ModelError::Torch`] if the shapes do not fit.
    pub fn pool(&self, last_hidden_state: &Tensor) -> Result<Option<Tensor>, ModelError> {
        self.parts.pooler.as_ref().map(|pooler| pooler.forward(last_hidden_state)).transpose()
    }
}
