//! DistilBERT (Sanh et al. 2019): BERT with other names, without segments and without a pooler.

use super::bert::{self, LayerNames};
use super::{Family, Parts, settings};
use crate::model::checkpoint::Weights;
use crate::model::config::{Config, Keys, Stored};
use crate::model::embeddings::{Embeddings, PositionRule, Tables};
use crate::model::layer::PlainScores;
use crate::model::tasks::{self, MaskedLmNames, TaskHead};
use crate::model::{Activation, ModelError, PruneRule};

pub const FAMILY: Family = Family {
    types: &["distilbert"],
    anchor: "embeddings.word_embeddings.weight",
    config,
    load,
    prune: PruneRule {
        layers: "transformer.layer.",
        rows: &["attention.q_lin", "attention.k_lin", "attention.v_lin"],
        columns: "attention.out_lin",
        compact: true,
    },
    settings: settings::DISTILBERT,
};

fn config(stored: &Stored) -> Result<Config, String> {
    let keys = Keys {
        hidden: ("dim", 768),
        layers: ("n_layers", 6),
        heads: ("n_heads", 12),
        intermediate: ("hidden_dim", 3072),
        activation: ("activation", "gelu"),
        types: None,
        eps: ("", 1e-12), // it is no setting in this family
        ..Keys::BERT
    };
    Config::read(stored, &keys)
}

fn load(weights: &Weights<'_>, config: &Config, _: &Stored) -> Result<Parts, ModelError> {
    let embeddings = Embeddings::load(weights, config, &Tables::BERT, PositionRule::Counted)?;
    let layers = bert::layers(weights, config, "transformer.layer", &NAMES, |_| Ok(Box::new(PlainScores)))?;
    let tasks = task_heads(weights, config, &embeddings)?;
    Ok(Parts { tasks, ..Parts::of(embeddings, layers) })
}

const NAMES: LayerNames = LayerNames {
    query: "attention.q_lin",
    key: "attention.k_lin",
    value: "attention.v_lin",
    output: "attention.out_lin",
    norms: ["sa_layer_norm", "output_layer_norm"],
    widen: "ffn.lin1",
    narrow: "ffn.lin2",
};

fn task_heads(weights: &Weights<'_>, config: &Config, embeddings: &Embeddings) -> Result<Vec<TaskHead>, ModelError> {
    let outside = weights.outside();
    let names = MaskedLmNames {
        dense: "vocab_transform",
        norm: "vocab_layer_norm",
        decoder: "vocab_projector",
        bias: "vocab_projector.bias",
        activation: config.activation,
    };
    let classifier = ("pre_classifier", Activation::Relu, "classifier");
    tasks::on_first(&outside, config, embeddings, &names, classifier)
}
