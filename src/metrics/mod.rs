//! Pure functions on runs: how attention is spread, and how two patterns differ.

mod answers;
mod change;
mod divergence;

pub use answers::{AnswerSpan, best_spans, greatest, kl_divergence, rank};
pub use change::{HiddenChange, cosine, hidden_change};
pub use divergence::{jensen_shannon, movement};
