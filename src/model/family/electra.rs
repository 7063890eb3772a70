//! ELECTRA (Clark et al. 2020): BERT whose embeddings can be narrower than its layers.

use super::bert::{self, LayerNames};
use super::{Family, Parts, settings};
use crate::model::checkpoint::Weights;
use crate::model::config::{Config, Keys, Stored};
use crate::model::embeddings::{Embeddings, PositionRule, Tables};
use crate::model::layer::PlainScores;
use crate::model::tasks::{self, MaskedLmNames, TaskHead};
use crate::model::{Activation, ModelError, PruneRule};

pub const FAMILY: Family = Family {
    types: &["electra"],
    anchor: "embeddings.word_embeddings.weight",
    config,
    load,
    prune: PruneRule::BERT,
    settings: settings::ELECTRA,
};

fn config(stored: &Stored) -> Result<Config, String> {
    let keys = Keys {
        hidden: ("hidden_size", 256),
        heads: ("num_attention_heads", 4),
        intermediate: ("intermediate_size", 1024),
        embedding: Some(("embedding_size", 128)),
        ..Keys::BERT
    };
    Config::read(stored, &keys)
}

fn load(weights: &Weights<'_>, config: &Config, _: &Stored) -> Result<Parts, ModelError> {
    let tables = Tables { projection: Some("embeddings_project"), ..Tables::BERT };
    let embeddings = Embeddings::load(weights, config, &tables, PositionRule::Counted)?;
    let layers = bert::layers(weights, config, "encoder.layer", &LayerNames::BERT, |_| Ok(Box::new(PlainScores)))?;
    let tasks = task_heads(weights, config, &embeddings)?;
    Ok(Parts { tasks, ..Parts::of(embeddings, layers) })
}

fn task_heads(weights: &Weights<'_>, config: &Config, embeddings: &Embeddings) -> Result<Vec<TaskHead>, ModelError> {
    let outside = weights.outside();
    let names = MaskedLmNames {
        dense: "generator_predictions.dense",
        norm: "generator_predictions.LayerNorm",
        decoder: "generator_lm_head",
        bias: "generator_lm_head.bias",
        activation: Activation::Gelu,
    };
    let classifier = ("classifier.dense", Activation::Gelu, "classifier.out_proj");
    tasks::on_first(&outside, config, embeddings, &names, classifier)
}
