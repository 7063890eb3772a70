//! Experiments: work that runs a model many times, each with a plain specification and a plain outcome.

mod curve;
mod gauge;
mod gradient;
mod inside;
mod leave_one_out;
mod nearest;
mod prune;
mod rerun;
mod sweep;
mod target;

pub use crate::model::PrunedShape;
pub use curve::{LEAST_FIRST, PruningCurve, PruningCurveOutcome};
pub use gradient::{GradientImportance, Sensitivity, gradients};
pub use inside::{CellOrigin, Inside};
pub use leave_one_out::{Importance, LeaveOneOut};
pub use nearest::{Nearest, NearestOutcome, Neighbour};
pub use prune::{Prune, PruneOutcome, Speed, Weight};
pub use rerun::Rerun;
pub use sweep::{Curve, Order, Sweep, SweepOutcome};
pub use target::{Example, NoTarget, Target};
