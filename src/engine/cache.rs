//! Runs of the current text that later ones go on from.

use std::sync::Arc;

use crate::model::{Model, ModelError, Plan, Probe, Sources, Traced};
use crate::run::{Edit, Input, Run};

/// The plain run of the current text and the last edited one, with the hidden state that enters each of their layers:
/// an edit in layer l computes only from l on.
#[derive(Debug, Default)]
pub(super) struct Cache {
    plain: Option<Traced>,
    edited: Option<Traced>,
    sources: Sources,
}

impl Cache {
    /// The run of a text with these edits, and the plain one beside it.
    pub fn run(
        &mut self,
        model: &Model,
        input: Input,
        edits: &[Edit],
        watcher: &mut dyn Probe,
    ) -> Result<(Arc<Run>, Arc<Run>), ModelError> {
        let plain = model.trace(input.clone(), Plan::default(), Vec::new(), self.plain.as_ref(), watcher)?;
        let plain = self.plain.insert(plain);
        if edits.is_empty() {
            return Ok((plain.run().clone(), plain.run().clone()));
        }
        let plan = Plan::of_those_that_apply(model, &input, edits, &mut self.sources);
        let shared = |base: &&Traced| base.shared_layers(&input, &plan);
        let base = self.edited.iter().chain([&*plain]).max_by_key(shared);
        let edited = model.trace(input.clone(), plan, edits.to_vec(), base, watcher)?;
        let run = edited.run().clone();
        self.edited = Some(edited);
        Ok((run, plain.run().clone()))
    }
}
