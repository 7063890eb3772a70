//! ALBERT (Lan et al. 2020): layers that share their weights, and embeddings narrower than them.

use super::bert::{self, LayerNames};
use super::{Family, Parts, settings};
use crate::model::checkpoint::Weights;
use crate::model::config::{Config, Keys, Stored};
use crate::model::embeddings::{Embeddings, PositionRule, Tables};
use crate::model::layer::PlainScores;
use crate::model::tasks::{self, MaskedLmNames, Pooler, TaskHead};
use crate::model::{ModelError, PruneRule};

pub const FAMILY: Family = Family {
    types: &["albert"],
    anchor: "embeddings.word_embeddings.weight",
    config,
    load,
    prune: PruneRule::SHARED,
    settings: settings::ALBERT,
};

fn config(stored: &Stored) -> Result<Config, String> {
    let keys = Keys {
        hidden: ("hidden_size", 4096),
        heads: ("num_attention_heads", 64),
        intermediate: ("intermediate_size", 16384),
        vocabulary: ("vocab_size", 30000),
        embedding: Some(("embedding_size", 128)),
        activation: ("hidden_act", "gelu_new"),
        ..Keys::BERT
    };
    let mut config = Config::read(stored, &keys)?;
    let (groups, inner) = sharing(stored)?;
    if groups > config.layers || config.layers * inner > 1000 {
        let layers = config.layers;
        return Err(format!("{layers} layers cannot be shared out among {groups} groups of {inner} layers"));
    }
    // Each step of a group is a layer for whoever looks at it.
    config.layers *= inner;
    Ok(config)
}

/// How many groups of layers there are, and how many layers each has.
fn sharing(stored: &Stored) -> Result<(usize, usize), String> {
    let (groups, inner) = (stored.number("num_hidden_groups", 1)?, stored.number("inner_group_num", 1)?);
    if groups == 0 || inner == 0 || inner > 1000 {
        return Err(format!("num_hidden_groups is {groups} and inner_group_num {inner}: both must be at least 1"));
    }
    Ok((groups, inner))
}

fn load(weights: &Weights<'_>, config: &Config, stored: &Stored) -> Result<Parts, ModelError> {
    let (groups, inner) = sharing(stored).map_err(ModelError::Unfit)?;
    let tables =
        Tables { projection: Some("encoder.embedding_hidden_mapping_in"), always_project: true, ..Tables::BERT };
    let embeddings = Embeddings::load(weights, config, &tables, PositionRule::Counted)?;
    let all: Vec<usize> = (0..config.heads).collect();
    let mut layers = Vec::new();
    for group in 0..groups {
        for layer in 0..inner {
            let prefix = format!("encoder.albert_layer_groups.{group}.albert_layers.{layer}");
            layers.push(bert::one_layer(weights, config, &prefix, &all, &NAMES, Box::new(PlainScores))?);
        }
    }
    let steps = config.layers / inner;
    let order = (0..steps).flat_map(|step| (0..inner).map(move |layer| step * groups / steps * inner + layer));
    let pooler = Pooler::load(weights, "pooler", config)?;
    let tasks = task_heads(weights, config, &embeddings, pooler.is_some())?;
    Ok(Parts { order: order.collect(), pooler, tasks, ..Parts::of(embeddings, layers) })
}

const NAMES: LayerNames = LayerNames {
    query: "attention.query",
    key: "attention.key",
    value: "attention.value",
    output: "attention.dense",
    norms: ["attention.LayerNorm", "full_layer_layer_norm"],
    widen: "ffn",
    narrow: "ffn_output",
};

fn task_heads(
    weights: &Weights<'_>,
    config: &Config,
    embeddings: &Embeddings,
    has_pooler: bool,
) -> Result<Vec<TaskHead>, ModelError> {
    let outside = weights.outside();
    let names = MaskedLmNames {
        dense: "predictions.dense",
        norm: "predictions.LayerNorm",
        decoder: "predictions.decoder",
        bias: "predictions.bias",
        activation: config.activation,
    };
    let pair = ("sop_classifier.classifier", ["in order", "swapped"]);
    tasks::on_pooled(&outside, config, embeddings, &names, pair, has_pooler)
}
