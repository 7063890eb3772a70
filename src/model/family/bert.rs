//! BERT (Devlin et al. 2019), and the blocks that other families share with it.

use super::{Family, Parts};
use crate::model::checkpoint::Weights;
use crate::model::config::{Config, Keys, Stored};
use crate::model::embeddings::{Embeddings, PositionRule, Tables};
use crate::model::layer::{AttentionNames, FeedForward, Layer, Norms, PlainScores, ScoreRule, SelfAttention};
use crate::model::tasks::{self, MaskedLmNames, Pooler, TaskHead};
use crate::model::{ModelError, PruneRule};

pub const FAMILY: Family =
    Family { types: &["bert"], anchor: "embeddings.word_embeddings.weight", config, load, prune: PruneRule::BERT };

fn config(stored: &Stored) -> Result<Config, String> {
    absolute_positions(stored)?;
    Config::read(stored, &Keys::BERT)
}

/// Refuses positions other than absolute ones, which some checkpoints of these families have.
pub fn absolute_positions(stored: &Stored) -> Result<(), String> {
    let kind = stored.text("position_embedding_type", "absolute")?;
    if kind == "absolute" {
        return Ok(());
    }
    Err(format!("its position_embedding_type is {kind}, and only absolute positions are known"))
}

fn load(weights: &Weights<'_>, config: &Config, _: &Stored) -> Result<Parts, ModelError> {
    let embeddings = Embeddings::load(weights, config, &Tables::BERT, PositionRule::Counted)?;
    let layers = layers(weights, config, |_| Ok(Box::new(PlainScores)))?;
    let pooler = Pooler::load(weights, "pooler.dense", config)?;
    let tasks = task_heads(weights, config, &embeddings, pooler.is_some())?;
    let order = (0..config.layers).collect();
    Ok(Parts { embeddings, layers, order, final_norm: None, pooler, tasks, shared: 0 })
}

/// The layers of BERT by BERT's names, with a rule for the scores of each.
pub fn layers(
    weights: &Weights<'_>,
    config: &Config,
    rule: impl Fn(usize) -> Result<Box<dyn ScoreRule>, ModelError>,
) -> Result<Vec<Layer>, ModelError> {
    (0..config.layers).map(|layer| one_layer(weights, config, layer, rule(layer)?)).collect()
}

fn one_layer(
    weights: &Weights<'_>,
    config: &Config,
    layer: usize,
    rule: Box<dyn ScoreRule>,
) -> Result<Layer, ModelError> {
    let name = |part: &str| format!("encoder.layer.{layer}.{part}");
    let names = AttentionNames {
        query: name("attention.self.query"),
        key: name("attention.self.key"),
        value: name("attention.self.value"),
        output: name("attention.output.dense"),
    };
    Ok(Layer {
        attention: SelfAttention::load(weights, config, &config.heads_left(layer), &names, rule)?,
        norms: Norms::After {
            attention: weights.layer_norm(&name("attention.output.LayerNorm"), config.hidden, config.layer_norm_eps)?,
            output: weights.layer_norm(&name("output.LayerNorm"), config.hidden, config.layer_norm_eps)?,
        },
        feed_forward: feed_forward(weights, config, &name("intermediate.dense"), &name("output.dense"))?,
        convolution: None,
    })
}

/// Widen, activate, narrow.
pub fn feed_forward(
    weights: &Weights<'_>,
    config: &Config,
    widen: &str,
    narrow: &str,
) -> Result<FeedForward, ModelError> {
    Ok(FeedForward::Plain {
        widen: weights.linear(widen, config.intermediate, config.hidden)?,
        activation: config.activation,
        narrow: weights.linear(narrow, config.hidden, config.intermediate)?,
    })
}

fn task_heads(
    weights: &Weights<'_>,
    config: &Config,
    embeddings: &Embeddings,
    has_pooler: bool,
) -> Result<Vec<TaskHead>, ModelError> {
    let outside = weights.outside();
    let names = MaskedLmNames {
        dense: "cls.predictions.transform.dense",
        norm: "cls.predictions.transform.LayerNorm",
        decoder: "cls.predictions.decoder",
        bias: "cls.predictions.bias",
        activation: config.activation,
    };
    let pair = ("cls.seq_relationship", ["follows", "does not follow"]);
    tasks::on_pooled(&outside, config, embeddings, &names, pair, has_pooler)
}
