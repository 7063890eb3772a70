//! Pure functions on runs: how attention is spread, and how two patterns differ.

mod divergence;

pub use divergence::{jensen_shannon, movement};
