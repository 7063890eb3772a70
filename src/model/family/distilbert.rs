//! DistilBERT (Sanh et al. 2019): BERT with other names, without segments and without a pooler.

use super::{Family, Parts, bert};
use crate::model::checkpoint::Weights;
use crate::model::config::{Config, Keys, Stored};
use crate::model::embeddings::{Embeddings, PositionRule, Tables};
use crate::model::layer::{AttentionNames, Layer, Norms, PlainScores, SelfAttention};
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
    let layers = (0..config.layers).map(|layer| one_layer(weights, config, layer)).collect::<Result<_, _>>()?;
    let tasks = task_heads(weights, config, &embeddings)?;
    Ok(Parts {
        embeddings,
        layers,
        order: (0..config.layers).collect(),
        final_norm: None,
        pooler: None,
        tasks,
        shared: 0,
    })
}

fn one_layer(weights: &Weights<'_>, config: &Config, layer: usize) -> Result<Layer, ModelError> {
    let name = |part: &str| format!("transformer.layer.{layer}.{part}");
    let names = AttentionNames {
        query: name("attention.q_lin"),
        key: name("attention.k_lin"),
        value: name("attention.v_lin"),
        output: name("attention.out_lin"),
    };
    let norm = |part: &str| weights.layer_norm(&name(part), config.hidden, config.layer_norm_eps);
    Ok(Layer {
        attention: SelfAttention::load(weights, config, &config.heads_left(layer), &names, Box::new(PlainScores))?,
        norms: Norms::After { attention: norm("sa_layer_norm")?, output: norm("output_layer_norm")? },
        feed_forward: bert::feed_forward(weights, config, &name("ffn.lin1"), &name("ffn.lin2"))?,
        convolution: None,
    })
}

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
