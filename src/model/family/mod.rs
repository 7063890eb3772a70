//! The families of encoders that can be opened: one file each says how a family's config, weights, embeddings, layers and
//! task heads are read. To add a family, add its file and name it in [`FAMILIES`].

mod albert;
mod bert;
mod deberta;
mod distilbert;
mod electra;
pub(super) mod evidence;
mod modernbert;
mod mpnet;
mod roberta;
pub(super) mod settings;

use super::checkpoint::{LayerNorm, Weights};
use super::config::{Config, Stored};
use super::embeddings::Embeddings;
use super::layer::Layer;
use super::tasks::{Pooler, TaskHead};
use super::{ModelError, PruneRule};

pub use settings::{Setting, SettingRule};

/// Every field of `config.json` that is known of a `model_type`, and what becomes of it.
///
/// # Errors
/// A sentence that names the `model_type`, where it is not known.
pub fn settings_of(model_type: &str) -> Result<Vec<Setting>, String> {
    Ok(settings::of(Family::of(model_type)?.settings).collect())
}

/// How a family is read.
pub(super) struct Family {
    /// Values of `model_type` in `config.json`.
    pub types: &'static [&'static str],
    /// The name, without its prefix, of the table of word embeddings: what stands before it stands before all names.
    pub anchor: &'static str,
    pub config: fn(&Stored) -> Result<Config, String>,
    pub load: fn(&Weights<'_>, &Config, &Stored) -> Result<Parts, ModelError>,
    pub prune: PruneRule,
    /// What becomes of each field of its config.
    pub settings: &'static [(SettingRule, &'static [&'static str])],
}

/// What a family's file makes of a checkpoint.
#[derive(Debug)]
pub(super) struct Parts {
    pub embeddings: Embeddings,
    /// Distinct layers.
    pub layers: Vec<Layer>,
    /// Which of them each step of the pass uses: the same one several times where layers share their weights.
    pub order: Vec<usize>,
    /// On the last layer's output.
    pub final_norm: Option<LayerNorm>,
    pub pooler: Option<Pooler>,
    /// The main one first.
    pub tasks: Vec<TaskHead>,
    /// How many weights the layers' score rules have in common.
    pub shared: usize,
}

impl Parts {
    /// Each layer used once, in its order, and nothing beside layers and embeddings.
    pub fn of(embeddings: Embeddings, layers: Vec<Layer>) -> Self {
        let order = (0..layers.len()).collect();
        Self { embeddings, layers, order, final_norm: None, pooler: None, tasks: Vec::new(), shared: 0 }
    }
}

const FAMILIES: [&Family; 8] = [
    &bert::FAMILY,
    &roberta::FAMILY,
    &distilbert::FAMILY,
    &electra::FAMILY,
    &albert::FAMILY,
    &mpnet::FAMILY,
    &deberta::FAMILY,
    &modernbert::FAMILY,
];

impl Family {
    /// What `transformers` puts before the encoder's names in a model with a task head (`base_model_prefix`).
    pub fn base(&self) -> String {
        let name = match self.types[0] {
            "modernbert" => "model",
            "deberta-v2" => "deberta",
            own => own,
        };
        format!("{name}.")
    }

    /// The family of a `model_type`.
    ///
    /// # Errors
    /// A sentence that names it and those that are known.
    pub fn of(model_type: &str) -> Result<&'static Self, String> {
        let found = FAMILIES.into_iter().find(|family| family.types.contains(&model_type));
        found.ok_or_else(|| {
            let known: Vec<&str> = FAMILIES.iter().flat_map(|family| family.types).copied().collect();
            format!("its model_type is {model_type}, and the known ones are {}", known.join(", "))
        })
    }
}
