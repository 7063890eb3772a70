use std::path::Path;

use tch::Tensor;

use super::layer::{Layer, Pace, Scratch};
use super::tasks::{self, TaskHead};
use super::weights::{LayerNorm, Linear, WeightFile, Weights};
use super::{Batch, Config, ModelError, Probe, Site};
use crate::run::{Task, TaskInfo};

/// A BERT encoder (Devlin et al. 2019): embeddings, layers of self-attention and feed-forward, a pooler and task heads
/// if present.
#[derive(Debug)]
pub struct Encoder {
    config: Config,
    embeddings: Embeddings,
    layers: Vec<Layer>,
    pooler: Option<Linear>,
    /// The main one first.
    tasks: Vec<TaskHead>,
}

impl Encoder {
    /// Reads `config.json` and `model.safetensors` from a Hugging Face model folder.
    ///
    /// # Errors
    /// [`ModelError`] that names the file, key or weight at fault.
    pub fn load(folder: &Path) -> Result<Self, ModelError> {
        let config = Config::from_folder(folder)?;
        let file = WeightFile::read(folder)?;
        let weights = file.weights()?;
        let embeddings = Embeddings::load(&weights, &config)?;
        let layers = (0..config.layers).map(|layer| Layer::load(&weights, &config, layer)).collect::<Result<_, _>>()?;
        let pooler = weights
            .has("pooler.dense.weight")
            .then(|| weights.linear("pooler.dense", config.hidden, config.hidden))
            .transpose()?;
        let tasks = tasks::load(&weights, &config, &embeddings.words, pooler.is_some())?;
        Ok(Self { config, embeddings, layers, pooler, tasks })
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    pub fn has_pooler(&self) -> bool {
        self.pooler.is_some()
    }

    /// The task heads, the main one first.
    pub fn tasks(&self) -> impl Iterator<Item = &TaskInfo> {
        self.tasks.iter().map(|head| &head.info)
    }

    /// A task head's logits from the last hidden state `[batch, token, hidden]`: `[batch, token, class]` for the tokens
    /// that are asked for, or `[batch, class]` from a head that answers for the whole text. It follows the thread's
    /// grad mode.
    ///
    /// # Errors
    /// [`ModelError::NoTask`] if the model has no such head.
    pub fn answer(&self, task: Task, last: &Tensor, tokens: Option<&[usize]>) -> Result<Tensor, ModelError> {
        let head = self.tasks.iter().find(|head| head.info.task == task).ok_or(ModelError::NoTask(task))?;
        if !head.is_on_tokens() {
            let pooled = self.pool(last)?.ok_or(ModelError::NoTask(task))?;
            return head.forward(&pooled);
        }
        match tokens {
            None => head.forward(last),
            Some(tokens) => {
                let tokens: Vec<i64> = tokens.iter().map(|&token| token as i64).collect();
                head.forward(&last.f_index_select(1, &Tensor::f_from_slice(&tokens)?)?)
            }
        }
    }

    /// How many weights the encoder has, the pooler and task heads included.
    pub fn parameters(&self) -> usize {
        self.embeddings.parameters()
            + self.layers.iter().map(Layer::parameters).sum::<usize>()
            + self.pooler.as_ref().map_or(0, Linear::parameters)
            + self.tasks.iter().map(TaskHead::parameters).sum::<usize>()
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
        if batch.largest_type >= config.types as i64 {
            return Err(ModelError::BadInput(format!(
                "segment {} with {} token types; this model takes no pairs",
                batch.largest_type, config.types
            )));
        }
        self.embeddings.forward(batch)
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
        for (index, layer) in self.layers.iter().enumerate().skip(first) {
            probe.enter(index, &hidden)?;
            hidden = layer.forward(index, &hidden, batch, &mut scratch, probe)?;
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
        let Some(pooler) = &self.pooler else { return Ok(None) };
        let first = last_hidden_state.f_select(1, 0)?;
        Ok(Some(pooler.forward(&first)?.f_tanh()?))
    }
}

/// Word, position and token type embeddings, added and normalised.
#[derive(Debug)]
struct Embeddings {
    words: Tensor,
    positions: Tensor,
    types: Tensor,
    norm: LayerNorm,
}

impl Embeddings {
    fn load(weights: &Weights<'_>, config: &Config) -> Result<Self, ModelError> {
        let table = |name: &str, rows| weights.get(&format!("embeddings.{name}.weight"), &[rows, config.hidden]);
        Ok(Self {
            words: table("word_embeddings", config.vocabulary)?,
            positions: table("position_embeddings", config.positions)?,
            types: table("token_type_embeddings", config.types)?,
            norm: weights.layer_norm("embeddings.LayerNorm", config.hidden, config.layer_norm_eps)?,
        })
    }

    fn forward(&self, batch: &Batch) -> Result<Tensor, ModelError> {
        let mut sum = Tensor::f_embedding(&self.words, &batch.ids, -1, false, false)?;
        sum = sum.f_add_(&Tensor::f_embedding(&self.types, &batch.types, -1, false, false)?)?;
        sum = sum.f_add_(&self.positions.f_narrow(0, 0, batch.padded() as i64)?)?;
        self.norm.forward(&sum)
    }

    fn parameters(&self) -> usize {
        self.words.numel() + self.positions.numel() + self.types.numel() + self.norm.parameters()
    }
}
