//! Experiments: work that runs a model many times, each with a plain specification and a plain outcome.

mod gradient;
mod leave_one_out;
mod nearest;
mod prune;
mod sweep;

pub use gradient::{GradientImportance, Sensitivity, gradients};
pub use leave_one_out::{Importance, LeaveOneOut, Target};
pub use nearest::{Nearest, NearestOutcome, Neighbour};
pub use prune::{Prune, PruneOutcome, Speed, Weight};
pub use sweep::{Curve, Order, Sweep, SweepOutcome};
