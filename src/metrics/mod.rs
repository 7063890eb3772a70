//! Pure functions on runs: how attention is spread, and how two patterns differ.

mod answers;
mod change;
mod comparison;
mod divergence;
mod heads;
mod reading;

pub use answers::{AnswerSpan, best_spans, greatest, kl_divergence, none_last, rank};
pub use change::{HiddenChange, cosine, hidden_change};
pub use comparison::{Compared, Comparison};
pub use divergence::{jensen_shannon, movement};
pub use heads::HeadMetric;
pub use reading::{Frame, Unit, read_view, upper};
