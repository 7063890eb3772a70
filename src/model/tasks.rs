//! Task heads: what a checkpoint was trained to answer. A head that the file lacks is never invented.

use ndarray::Array2;
use tch::{Kind, Tensor};

use super::capture::plain;
use super::checkpoint::{LayerNorm, Linear, Weights};
use super::config::Problem;
use super::embeddings::Embeddings;
use super::layer::{Pace, activate};
use super::{Activation, Config, ModelError};
use crate::run::{Scale, Task, TaskInfo};

/// A task head: some steps on hidden states, then a linear layer.
#[derive(Debug)]
pub(super) struct TaskHead {
    pub info: TaskInfo,
    pub input: HeadInput,
    steps: Vec<Step>,
    last: Linear,
    /// The last layer's weight is the table of words, and counted there.
    tied: bool,
}

/// What a head reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeadInput {
    /// Each token's hidden state.
    Tokens,
    /// The first token's.
    First,
    /// The mean over the tokens.
    Mean,
    /// The pooler's output.
    Pooled,
}

#[derive(Debug)]
pub(super) enum Step {
    Linear(Linear),
    Activation(Activation),
    Norm(LayerNorm),
}

/// tanh of a linear layer on the first token.
#[derive(Debug)]
pub(super) struct Pooler(Linear);

impl Pooler {
    /// The pooler of that name, if the checkpoint has it.
    pub fn load(weights: &Weights<'_>, name: &str, config: &Config) -> Result<Option<Self>, ModelError> {
        let there = weights.has(&format!("{name}.weight"));
        if !there && config.has_pooler() {
            weights.lacks(None, &both(name));
        }
        there.then(|| weights.linear(name, config.hidden, config.hidden).map(Self)).transpose()
    }

    /// `[batch, hidden]` from the last hidden state `[batch, token, hidden]`.
    pub fn forward(&self, last: &Tensor) -> Result<Tensor, ModelError> {
        Ok(self.0.forward(&last.f_select(1, 0)?)?.f_tanh()?)
    }

    pub fn parameters(&self) -> usize {
        self.0.parameters()
    }
}

/// Names of a masked language model's weights.
pub(super) struct MaskedLmNames {
    pub dense: &'static str,
    pub norm: &'static str,
    pub decoder: &'static str,
    /// Some checkpoints keep the decoder's bias under this name as well, or alone.
    pub bias: &'static str,
    pub activation: Activation,
}

/// The heads of families that classify a text by its pooled first token. Sequence and token classifiers have weights of
/// one name there: the architecture tells them apart, and without one the pooler does, which only the former needs.
pub(super) fn on_pooled(
    weights: &Weights<'_>,
    config: &Config,
    embeddings: &Embeddings,
    masked: &MaskedLmNames,
    (pair, answers): (&str, [&str; 2]),
    has_pooler: bool,
) -> Result<Vec<TaskHead>, ModelError> {
    let mut heads = Vec::new();
    heads.extend(masked_lm(weights, config, embeddings, masked)?);
    heads.extend(question_answering(weights, config)?);
    if config.is_for("TokenClassification", !has_pooler) {
        heads.extend(token_classification(weights, config, Vec::new())?);
    } else if has_pooler {
        heads.extend(sequence_classification(weights, config, HeadInput::Pooled, Vec::new(), "classifier")?);
    } else {
        // What the head reads is not there, whether or not the head is.
        weights.lacks(Some(Task::SequenceClassification), &both("classifier"));
    }
    if has_pooler {
        heads.extend(next_sentence(weights, config, pair, answers)?);
    }
    Ok(heads)
}

/// The heads of families that classify a text by its first token, after a linear layer of their own and an activation.
pub(super) fn on_first(
    weights: &Weights<'_>,
    config: &Config,
    embeddings: &Embeddings,
    masked: &MaskedLmNames,
    (dense, activation, last): (&str, Activation, &str),
) -> Result<Vec<TaskHead>, ModelError> {
    let mut heads = Vec::new();
    heads.extend(masked_lm(weights, config, embeddings, masked)?);
    heads.extend(question_answering(weights, config)?);
    if weights.has(&format!("{dense}.weight")) {
        let steps =
            vec![Step::Linear(weights.linear(dense, config.hidden, config.hidden)?), Step::Activation(activation)];
        heads.extend(sequence_classification(weights, config, HeadInput::First, steps, last)?);
    } else if config.is_for("SequenceClassification", false) {
        // A layer of the same name is no classifier of tokens then.
        weights.lacks(Some(Task::SequenceClassification), &[both(dense), both(last)].concat());
    } else {
        heads.extend(token_classification(weights, config, Vec::new())?);
    }
    Ok(heads)
}

/// A linear layer on each token, an activation, a layer norm, then the product with the table of words.
pub(super) fn masked_lm(
    weights: &Weights<'_>,
    config: &Config,
    embeddings: &Embeddings,
    names: &MaskedLmNames,
) -> Result<Option<TaskHead>, ModelError> {
    if !weights.has(&format!("{}.weight", names.dense)) || !weights.has(&format!("{}.weight", names.norm)) {
        weights.lacks(Some(Task::MaskedLm), &[both(names.dense), both(names.norm), vec![names.bias.into()]].concat());
        return Ok(None);
    }
    let (width, vocabulary) = (config.embedding, config.vocabulary);
    let own = format!("{}.weight", names.decoder);
    let decoder = match config.tied && !weights.has(&own) {
        true => None,
        false => Some(weights.get(&own, &[vocabulary, width])?),
    };
    // Where both tables are there and differ, `transformers` leaves them apart, whatever the config says.
    let tied = config.tied && decoder.as_ref().is_none_or(|decoder| *decoder == embeddings.words);
    let weight = decoder.filter(|_| !tied).unwrap_or_else(|| embeddings.words.shallow_clone());
    let biases = [format!("{}.bias", names.decoder), names.bias.to_owned()];
    let bias = biases.iter().find(|name| weights.has(name)).unwrap_or(&biases[1]);
    let bias = config.decoder_bias.then(|| weights.get(bias, &[vocabulary])).transpose()?;
    let dense = weights.linear_biased(names.dense, width, config.hidden, config.head_bias)?;
    let norm = weights.norm_biased(names.norm, width, config.layer_norm_eps, config.norm_bias)?;
    Ok(Some(TaskHead {
        info: TaskInfo { task: Task::MaskedLm, labels: Vec::new(), scale: Scale::Softmax },
        input: HeadInput::Tokens,
        steps: vec![Step::Linear(dense), Step::Activation(names.activation), Step::Norm(norm)],
        last: Linear { weight, bias },
        tied,
    }))
}

/// Where an answer starts and ends, by a linear layer on each token.
pub(super) fn question_answering(weights: &Weights<'_>, config: &Config) -> Result<Option<TaskHead>, ModelError> {
    spans(weights, config, Vec::new(), "qa_outputs")
}

/// The same under another name, after some steps.
pub(super) fn spans(
    weights: &Weights<'_>,
    config: &Config,
    steps: Vec<Step>,
    name: &str,
) -> Result<Option<TaskHead>, ModelError> {
    let labels = names(&["start", "end"]);
    let info = TaskInfo { task: Task::QuestionAnswering, labels, scale: Scale::Softmax };
    linear_head(weights, config, info, HeadInput::Tokens, steps, name)
}

/// A class for each token.
pub(super) fn token_classification(
    weights: &Weights<'_>,
    config: &Config,
    steps: Vec<Step>,
) -> Result<Option<TaskHead>, ModelError> {
    let Some(labels) = labels(weights, config, "classifier") else {
        weights.lacks(Some(Task::TokenClassification), &both("classifier"));
        return Ok(None);
    };
    let info = TaskInfo { task: Task::TokenClassification, labels, scale: Scale::Softmax };
    linear_head(weights, config, info, HeadInput::Tokens, steps, "classifier")
}

/// A class for the whole text.
pub(super) fn sequence_classification(
    weights: &Weights<'_>,
    config: &Config,
    input: HeadInput,
    steps: Vec<Step>,
    name: &str,
) -> Result<Option<TaskHead>, ModelError> {
    let Some(labels) = labels(weights, config, name) else {
        weights.lacks(Some(Task::SequenceClassification), &both(name));
        return Ok(None);
    };
    let scale = match config.problem {
        Problem::Regression => Scale::Raw,
        // `transformers` takes one class alone for a regression, too.
        Problem::SingleLabelClassification if labels.len() == 1 => Scale::Raw,
        Problem::SingleLabelClassification => Scale::Softmax,
        Problem::MultiLabelClassification => Scale::Sigmoid,
    };
    let info = TaskInfo { task: Task::SequenceClassification, labels, scale };
    linear_head(weights, config, info, input, steps, name)
}

/// Whether the second text follows, or what else the family asks of a pair.
fn next_sentence(
    weights: &Weights<'_>,
    config: &Config,
    name: &str,
    labels: [&str; 2],
) -> Result<Option<TaskHead>, ModelError> {
    let info = TaskInfo { task: Task::NextSentence, labels: names(&labels), scale: Scale::Softmax };
    linear_head(weights, config, info, HeadInput::Pooled, Vec::new(), name)
}

fn linear_head(
    weights: &Weights<'_>,
    config: &Config,
    info: TaskInfo,
    input: HeadInput,
    steps: Vec<Step>,
    name: &str,
) -> Result<Option<TaskHead>, ModelError> {
    if !weights.has(&format!("{name}.weight")) {
        weights.lacks(Some(info.task), &both(name));
        return Ok(None);
    }
    let last = weights.linear(name, info.labels.len(), config.hidden)?;
    Ok(Some(TaskHead { info, input, steps, last, tied: false }))
}

/// Names of the classes of a classifier: the config's, or numbers for as many as the weight has.
fn labels(weights: &Weights<'_>, config: &Config, name: &str) -> Option<Vec<String>> {
    let classes = *weights.shape(&format!("{name}.weight"))?.first()?;
    Some(match config.labels.len() {
        0 => (0..classes).map(|class| format!("LABEL_{class}")).collect(),
        _ => config.labels.clone(),
    })
}

/// The weight and the bias of a layer.
pub(super) fn both(name: &str) -> Vec<String> {
    vec![format!("{name}.weight"), format!("{name}.bias")]
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

impl TaskHead {
    /// Weights of the head's own: a tied decoder is counted with the embeddings.
    pub fn parameters(&self) -> usize {
        let steps = self.steps.iter().map(|step| match step {
            Step::Linear(linear) => linear.parameters(),
            Step::Norm(norm) => norm.parameters(),
            Step::Activation(_) => 0,
        });
        let last = if self.tied { self.last.bias.as_ref().map_or(0, Tensor::numel) } else { self.last.parameters() };
        steps.sum::<usize>() + last
    }

    /// Logits `[batch, token, class]` for the tokens that are asked for, or `[batch, class]` of a head on the whole text,
    /// from the last hidden state `[batch, token, hidden]` of a batch without padding. It can be differentiated.
    pub fn answer(
        &self,
        last: &Tensor,
        tokens: Option<&[usize]>,
        pooler: Option<&Pooler>,
    ) -> Result<Tensor, ModelError> {
        let states = match (self.input, tokens) {
            (HeadInput::Pooled, _) => pooler.ok_or(ModelError::NoTask(self.info.task))?.forward(last)?,
            (HeadInput::First, _) => last.f_select(1, 0)?,
            (HeadInput::Mean, _) => last.f_mean_dim([1].as_slice(), false, Kind::Float)?,
            (HeadInput::Tokens, None) => last.shallow_clone(),
            (HeadInput::Tokens, Some(tokens)) => {
                let tokens: Vec<i64> = tokens.iter().map(|&token| token as i64).collect();
                last.f_index_select(1, &Tensor::f_from_slice(&tokens)?)?
            }
        };
        let mut states = states;
        for step in &self.steps {
            states = match step {
                Step::Linear(linear) => linear.forward(&states)?,
                Step::Activation(activation) => activate(Pace::Differentiable, *activation, states)?,
                Step::Norm(norm) => norm.forward(&states)?,
            };
        }
        self.last.forward(&states)
    }
}

/// Logits `[row, class]` as plain numbers.
pub(super) fn rows(logits: &Tensor) -> Result<Array2<f32>, ModelError> {
    let (rows, classes) = logits.size2()?;
    let shape = (rows as usize, classes as usize);
    Array2::from_shape_vec(shape, plain(logits)?).map_err(|error| ModelError::BadInput(error.to_string()))
}
