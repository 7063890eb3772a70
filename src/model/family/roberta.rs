//! RoBERTa (Liu et al. 2019), XLM-RoBERTa (Conneau et al. 2020) and CamemBERT (Martin et al. 2020): BERT whose positions
//! are counted from the padding id on, skipping padding.

use super::bert::{self, LayerNames};
use super::{Family, Parts, settings};
use crate::model::checkpoint::Weights;
use crate::model::config::{Config, Keys, Stored};
use crate::model::embeddings::{Embeddings, PositionRule, Tables};
use crate::model::layer::PlainScores;
use crate::model::tasks::{self, MaskedLmNames, Pooler, TaskHead};
use crate::model::{Activation, ModelError, PruneRule};

pub const FAMILY: Family = Family {
    types: &["roberta", "xlm-roberta", "camembert"],
    anchor: "embeddings.word_embeddings.weight",
    config,
    load,
    prune: PruneRule::BERT,
    settings: settings::ROBERTA,
};

fn config(stored: &Stored) -> Result<Config, String> {
    let keys = Keys { vocabulary: ("vocab_size", 50265), ..Keys::BERT };
    let config = Config::read(stored, &keys)?;
    let padding = padding(stored, config.vocabulary)?;
    config.with_positions_after(padding)
}

/// The padding id, from which positions are counted. It is another than usual only where it is written.
fn padding(stored: &Stored, vocabulary: usize) -> Result<usize, String> {
    let needed = "and this family counts positions from it on: it must be the number of a token, usually 1";
    if stored.is_null("pad_token_id") {
        return Err(format!("its pad_token_id is null, {needed}"));
    }
    let padding = stored.signed("pad_token_id", 1)?;
    let known = usize::try_from(padding).ok().filter(|padding| *padding < vocabulary);
    known.ok_or_else(|| format!("its pad_token_id is {padding}, {needed}, and there are {vocabulary} tokens"))
}

fn load(weights: &Weights<'_>, config: &Config, stored: &Stored) -> Result<Parts, ModelError> {
    let rule = PositionRule::after_padding(stored)?;
    let embeddings = Embeddings::load(weights, config, &Tables::BERT, rule)?;
    let layers = bert::layers(weights, config, "encoder.layer", &LayerNames::BERT, |_| Ok(Box::new(PlainScores)))?;
    let pooler = Pooler::load(weights, "pooler.dense", config)?;
    let tasks = task_heads(weights, config, &embeddings)?;
    Ok(Parts { pooler, tasks, ..Parts::of(embeddings, layers) })
}

/// Heads by RoBERTa's names, which MPNet has taken over.
pub fn task_heads(
    weights: &Weights<'_>,
    config: &Config,
    embeddings: &Embeddings,
) -> Result<Vec<TaskHead>, ModelError> {
    let outside = weights.outside();
    let names = MaskedLmNames {
        dense: "lm_head.dense",
        norm: "lm_head.layer_norm",
        decoder: "lm_head.decoder",
        bias: "lm_head.bias",
        activation: Activation::Gelu,
    };
    let classifier = ("classifier.dense", Activation::Tanh, "classifier.out_proj");
    tasks::on_first(&outside, config, embeddings, &names, classifier)
}
