//! Task heads: what a checkpoint was trained to answer. A head that the file lacks is never invented.

use ndarray::Array2;
use tch::Tensor;

use super::capture::plain;
use super::config::Problem;
use super::layer::{Pace, activate};
use super::weights::{LayerNorm, Linear, Weights};
use super::{Activation, Config, ModelError};
use crate::run::{Scale, Task, TaskInfo};

/// A task head with its weights.
#[derive(Debug)]
pub(super) struct TaskHead {
    pub info: TaskInfo,
    body: Body,
}

#[derive(Debug)]
enum Body {
    /// A linear layer on each token, an activation, a layer norm, then the product with the table of words.
    MaskedLm { transform: Linear, activation: Activation, norm: LayerNorm, decoder: Linear, tied: bool },
    /// A linear layer on the pooled first token.
    OnPooled(Linear),
    /// A linear layer on each token.
    OnTokens(Linear),
}

/// The heads that a checkpoint has, its main one first.
///
/// `words` is the table of word embeddings, `[vocabulary, hidden]`, which a tied decoder shares.
pub(super) fn load(
    weights: &Weights<'_>,
    config: &Config,
    words: &Tensor,
    has_pooler: bool,
) -> Result<Vec<TaskHead>, ModelError> {
    let weights = &weights.outside()?;
    let mut heads = Vec::new();
    if weights.has("cls.predictions.transform.dense.weight") {
        heads.push(masked_lm(weights, config, words)?);
    }
    if weights.has("qa_outputs.weight") {
        let outputs = weights.linear("qa_outputs", 2, config.hidden)?;
        heads.push(head(Task::QuestionAnswering, names(&["start", "end"]), Scale::Softmax, Body::OnTokens(outputs)));
    }
    if let Some(shape) = weights.shape("classifier.weight") {
        heads.push(classifier(weights, config, shape[0], has_pooler)?);
    }
    if weights.has("cls.seq_relationship.weight") && has_pooler {
        let outputs = weights.linear("cls.seq_relationship", 2, config.hidden)?;
        let labels = names(&["follows", "does not follow"]);
        heads.push(head(Task::NextSentence, labels, Scale::Softmax, Body::OnPooled(outputs)));
    }
    Ok(heads)
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn head(task: Task, labels: Vec<String>, scale: Scale, body: Body) -> TaskHead {
    TaskHead { info: TaskInfo { task, labels, scale }, body }
}

fn masked_lm(weights: &Weights<'_>, config: &Config, words: &Tensor) -> Result<TaskHead, ModelError> {
    let (hidden, vocabulary) = (config.hidden, config.vocabulary);
    let own = "cls.predictions.decoder.weight";
    let tied = config.tied || !weights.has(own);
    let weight = if tied { words.shallow_clone() } else { weights.get(own, &[vocabulary, hidden])? };
    // `transformers` writes the bias under either name or both, and reads the first.
    let bias = ["cls.predictions.decoder.bias", "cls.predictions.bias"].into_iter().find(|name| weights.has(name));
    let bias = weights.get(bias.unwrap_or("cls.predictions.bias"), &[vocabulary])?;
    let body = Body::MaskedLm {
        transform: weights.linear("cls.predictions.transform.dense", hidden, hidden)?,
        activation: config.activation,
        norm: weights.layer_norm("cls.predictions.transform.LayerNorm", hidden, config.layer_norm_eps)?,
        decoder: Linear { weight, bias },
        tied,
    };
    Ok(head(Task::MaskedLm, Vec::new(), Scale::Softmax, body))
}

/// Sequence and token classifiers have weights of one name: the architecture tells them apart, and without one the
/// pooler does, which only the former needs.
fn classifier(
    weights: &Weights<'_>,
    config: &Config,
    classes: usize,
    has_pooler: bool,
) -> Result<TaskHead, ModelError> {
    let labels = match config.labels.len() {
        0 => (0..classes).map(|class| format!("LABEL_{class}")).collect(),
        _ => config.labels.clone(),
    };
    let linear = weights.linear("classifier", labels.len(), config.hidden)?;
    let on_tokens = match config.architecture.as_deref() {
        Some(name) if name.ends_with("TokenClassification") => true,
        Some(name) if name.ends_with("SequenceClassification") => false,
        _ => !has_pooler,
    };
    if on_tokens {
        return Ok(head(Task::TokenClassification, labels, Scale::Softmax, Body::OnTokens(linear)));
    }
    if !has_pooler {
        return Err(ModelError::MissingWeight("pooler.dense.weight".into()));
    }
    let scale = match config.problem {
        Problem::Regression => Scale::Raw,
        // `transformers` takes one class alone for a regression, too.
        Problem::SingleLabelClassification if labels.len() == 1 => Scale::Raw,
        Problem::SingleLabelClassification => Scale::Softmax,
        Problem::MultiLabelClassification => Scale::Sigmoid,
    };
    Ok(head(Task::SequenceClassification, labels, scale, Body::OnPooled(linear)))
}

impl TaskHead {
    /// Weights of the head's own: a tied decoder is counted with the embeddings.
    pub fn parameters(&self) -> usize {
        match &self.body {
            Body::MaskedLm { transform, norm, decoder, tied, .. } => {
                let decoder = if *tied { decoder.bias.numel() } else { decoder.parameters() };
                transform.parameters() + norm.parameters() + decoder
            }
            Body::OnPooled(linear) | Body::OnTokens(linear) => linear.parameters(),
        }
    }

    /// The head answers once for each token, not once for the whole text.
    pub fn is_on_tokens(&self) -> bool {
        !matches!(self.body, Body::OnPooled(_))
    }

    /// Logits `[…, class]` from hidden states `[…, hidden]` of tokens, or from the pooled output, whichever the head is
    /// on. It can be differentiated.
    pub fn forward(&self, states: &Tensor) -> Result<Tensor, ModelError> {
        match &self.body {
            Body::MaskedLm { transform, activation, norm, decoder, .. } => {
                let states = activate(Pace::Differentiable, *activation, transform.forward(states)?)?;
                decoder.forward(&norm.forward(&states)?)
            }
            Body::OnPooled(linear) | Body::OnTokens(linear) => linear.forward(states),
        }
    }
}

/// Logits `[row, class]` as plain numbers.
pub(super) fn rows(logits: &Tensor) -> Result<Array2<f32>, ModelError> {
    let (rows, classes) = logits.size2()?;
    let shape = (rows as usize, classes as usize);
    Array2::from_shape_vec(shape, plain(logits)?).map_err(|error| ModelError::BadInput(error.to_string()))
}
