//! Experiments: work that runs a model many times, each with a plain specification and a plain outcome.

mod nearest;

pub use nearest::{Nearest, NearestOutcome, Neighbour};
