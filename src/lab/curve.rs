use std::any::Any;
use std::sync::Arc;

use super::leave_one_out::{Importance, LeaveOneOut};
use super::sweep::{Order, Sweep, SweepOutcome};
use super::target::{Example, Target};
use crate::engine::{Experiment, Progress};
use crate::model::{Model, ModelError};
use crate::run::HeadId;

/// Ranks heads by leave-one-out, then switches them off one after the other: least important first, at random, and most
/// important first. A head is as important as its effect is large, whatever its sign.
#[derive(Debug, Clone, PartialEq)]
pub struct PruningCurve {
    pub examples: Arc<Vec<Example>>,
    pub target: Target,
    /// Of the random order.
    pub seed: u64,
}

/// What the ranking and the curves brought.
#[derive(Debug, Clone, PartialEq)]
pub struct PruningCurveOutcome {
    pub spec: PruningCurve,
    /// The name of the model.
    pub model: String,
    pub importance: Importance,
    pub sweep: SweepOutcome,
}

/// The name of the order in which the heads that matter least go first.
pub const LEAST_FIRST: &str = "least important first";

impl PruningCurveOutcome {
    /// The heads that can go, least important first, while the target stays within a share of its plain value: “lose at
    /// most 1 %” is a share of 0.01.
    pub fn spared(&self, share: f32) -> &[HeadId] {
        let orders = self.sweep.spec.orders.iter().zip(&self.sweep.curves);
        let found = orders.filter(|(order, _)| order.name == LEAST_FIRST);
        found.map(|(order, curve)| &order.heads[..curve.heads_within(share)]).next().unwrap_or_default()
    }
}

impl Experiment for PruningCurve {
    fn name(&self) -> String {
        format!("pruning curve on {} texts", self.examples.len())
    }

    fn run(
        &mut self,
        model: &Model,
        progress: &mut dyn FnMut(Progress) -> Result<(), ModelError>,
    ) -> Result<Box<dyn Any + Send>, ModelError> {
        // One text takes as many passes for a layer's heads as for a part of a curve, more or less.
        let (layers, orders) = (model.info().layers, 3);
        let (first, total) = (self.examples.len() * layers, self.examples.len() * (layers + orders));
        let (examples, target) = (self.examples.clone(), self.target.clone());
        let importance: Importance = outcome_of(
            LeaveOneOut { examples, target }
                .run(model, &mut |progress_of| progress(Progress { total, ..progress_of }))?,
        )?;
        let (examples, target) = (self.examples.clone(), self.target.clone());
        let mut sweep = Sweep { examples, target, orders: orders_of(&importance, self.seed) };
        let sweep: SweepOutcome =
            outcome_of(sweep.run(model, &mut |progress_of| progress(Progress::new(first + progress_of.done, total)))?)?;
        Ok(Box::new(PruningCurveOutcome { spec: self.clone(), model: model.info().name.clone(), importance, sweep }))
    }
}

fn outcome_of<T: 'static>(outcome: Box<dyn Any + Send>) -> Result<T, ModelError> {
    let other = |_| ModelError::Unfit("the experiment gave another outcome".into());
    outcome.downcast::<T>().map(|outcome| *outcome).map_err(other)
}

fn orders_of(importance: &Importance, seed: u64) -> Vec<Order> {
    let mut heads: Vec<(HeadId, f32)> =
        importance.ranked().into_iter().map(|(head, effect, _)| (head, effect.abs())).collect();
    heads.sort_by(|a, b| a.1.total_cmp(&b.1));
    let least: Vec<HeadId> = heads.into_iter().map(|(head, _)| head).collect();
    let most: Vec<HeadId> = least.iter().rev().copied().collect();
    let mut random = least.clone();
    fastrand::Rng::with_seed(seed).shuffle(&mut random);
    let order = |name: &str, heads| Order { name: name.to_owned(), heads };
    vec![order(LEAST_FIRST, least), order("at random", random), order("most important first", most)]
}
