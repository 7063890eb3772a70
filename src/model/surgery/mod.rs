//! Interventions on heads: what is to be done (the plan), where held patterns come from, and the probe that does it.

mod freeze;
mod held;
mod means;
mod plan;
mod probe;

pub use held::{Held, Sources};
pub use means::OnProgress;
pub use plan::Plan;
pub use probe::Surgery;
