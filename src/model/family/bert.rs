//! BERT (Devlin et al. 2019), and the blocks that other families share with it.

use super::{Family, Parts, settings};
use crate::model::checkpoint::Weights;
use crate::model::config::{Config, Keys, Stored};
use crate::model::embeddings::{Embeddings, PositionRule, Tables};
use crate::model::layer::{AttentionNames, FeedForward, Layer, Norms, PlainScores, ScoreRule, SelfAttention};
use crate::model::tasks::{self, MaskedLmNames, Pooler, TaskHead};
use crate::model::{ModelError, PruneRule};

pub const FAMILY: Family = Family {
    types: &["bert"],
    anchor: "embeddings.word_embeddings.weight",
    config,
    load,
    prune: PruneRule::BERT,
    settings: settings::BERT,
};

fn config(stored: &Stored) -> Result<Config, String> {
    Config::read(stored, &Keys::BERT)
}

fn load(weights: &Weights<'_>, config: &Config, _: &Stored) -> Result<Parts, ModelError> {
    let embeddings = Embeddings::load(weights, config, &Tables::BERT, PositionRule::Counted)?;
    let layers = layers(weights, config, "encoder.layer", &LayerNames::BERT, |_| Ok(Box::new(PlainScores)))?;
    let pooler = Pooler::load(weights, "pooler.dense", config)?;
    let tasks = task_heads(weights, config, &embeddings, pooler.is_some())?;
    Ok(Parts { pooler, tasks, ..Parts::of(embeddings, layers) })
}

/// Layers built as BERT's, with a rule for the scores of each.
pub fn layers(
    weights: &Weights<'_>,
    config: &Config,
    prefix: &str,
    names: &LayerNames,
    rule: impl Fn(usize) -> Result<Box<dyn ScoreRule>, ModelError>,
) -> Result<Vec<Layer>, ModelError> {
    let one = |layer| {
        let prefix = format!("{prefix}.{layer}");
        one_layer(weights, config, &prefix, &config.heads_left(layer), names, rule(layer)?)
    };
    (0..config.layers).map(one).collect()
}

/// What the parts of a layer built as BERT's are called, after the layer's own prefix.
pub struct LayerNames {
    pub query: &'static str,
    pub key: &'static str,
    pub value: &'static str,
    pub output: &'static str,
    /// The norms after attention and after the feed-forward block.
    pub norms: [&'static str; 2],
    /// The two halves of the feed-forward block.
    pub widen: &'static str,
    pub narrow: &'static str,
}

impl LayerNames {
    pub const BERT: Self = Self {
        query: "attention.self.query",
        key: "attention.self.key",
        value: "attention.self.value",
        output: "attention.output.dense",
        norms: ["attention.output.LayerNorm", "output.LayerNorm"],
        widen: "intermediate.dense",
        narrow: "output.dense",
    };
}

/// A layer built as BERT's, a norm after each block, of the heads that are left.
pub fn one_layer(
    weights: &Weights<'_>,
    config: &Config,
    prefix: &str,
    left: &[usize],
    names: &LayerNames,
    rule: Box<dyn ScoreRule>,
) -> Result<Layer, ModelError> {
    let name = |part: &str| format!("{prefix}.{part}");
    let attention = AttentionNames {
        query: name(names.query),
        key: name(names.key),
        value: name(names.value),
        output: name(names.output),
    };
    let norm = |part: &str| weights.layer_norm(&name(part), config.hidden, config.layer_norm_eps);
    Ok(Layer {
        attention: SelfAttention::load(weights, config, left, &attention, rule)?,
        norms: Norms::After { attention: norm(names.norms[0])?, output: norm(names.norms[1])? },
        feed_forward: FeedForward::Plain {
            widen: weights.linear(&name(names.widen), config.intermediate, config.hidden)?,
            activation: config.activation,
            narrow: weights.linear(&name(names.narrow), config.hidden, config.intermediate)?,
        },
        convolution: None,
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
