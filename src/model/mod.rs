//! A checkpoint as an encoder on libtorch: configuration, weights, the forward pass and its hook sites.
//!
//! ```no_run
//! use headlight::model::{Batch, Capture, Encoder};
//! use std::path::Path;
//!
//! let encoder = Encoder::load(Path::new("all-MiniLM-L6-v2"))?;
//! let batch = Batch::from_ids(&[&[101, 7592, 102]])?;
//! let mut capture = Capture::default();
//! let last_hidden_state = encoder.forward(&batch, &mut capture)?; // [batch, token, hidden]
//! let maps = capture.maps(0, 3)?; // [layer, head, query, key]
//! # Ok::<(), headlight::model::ModelError>(())
//! ```

mod batch;
mod capture;
mod checkpoint;
mod config;
mod embeddings;
mod encoder;
mod error;
mod family;
mod find;
mod layer;
mod loaded;
mod modules;
mod pooling;
mod probe;
mod prompts;
mod prune;
mod sentence;
mod surgery;
mod tasks;

pub use batch::Batch;
pub use capture::Capture;
pub(crate) use capture::plain;
pub use config::{Activation, Config, Problem};
pub use encoder::Encoder;
pub use error::ModelError;
pub use family::{Setting, SettingRule, settings_of};
pub use find::{DEFAULT_MODEL, find_model, list_models, model_folders};
pub use loaded::{Model, Traced};
pub use probe::{Boundaries, Probe, Projections, Site};
pub(crate) use prune::PruneRule;
pub use prune::{PrunedShape, can_prune, prune, weight_bytes};
pub use surgery::{Held, OnProgress, Plan, Sources, Surgery};
