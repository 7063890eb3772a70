//! Pure functions on runs: how attention is spread, and how two patterns differ.

mod change;
mod divergence;

pub use change::{HiddenChange, cosine, hidden_change};
pub use divergence::{jensen_shannon, movement};
