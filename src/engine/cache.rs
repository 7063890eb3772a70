//! Runs of the current text that later ones go on from.

use std::sync::Arc;

use super::protocol::{Half, Ran};
use crate::model::{Model, ModelError, Plan, Probe, Sources, Traced};
use crate::run::{Edit, Embedding, Input, Recipe, Texts};

/// The plain run of the current text and the last edited one, with the hidden state that enters each of their layers:
/// an edit in layer l computes only from l on.
#[derive(Debug, Default)]
pub(super) struct Cache {
    plain: Option<Traced>,
    edited: Option<Traced>,
    /// The halves of the last pair, with their plain vectors.
    halves: Vec<(String, Embedding)>,
    sources: Sources,
}

impl Cache {
    /// An empty one, whose means over text files are kept in the user's cache.
    pub fn new() -> Self {
        Self { sources: Sources::kept(), ..Self::default() }
    }

    /// What edits take from text files, so that the run itself need not wait for it. What was done stays when it is
    /// stopped.
    pub fn prepare(
        &mut self,
        model: &Model,
        edits: &[Edit],
        progress: &mut dyn FnMut(usize, usize) -> Result<(), ModelError>,
    ) -> Result<(), ModelError> {
        self.sources.prepare(model, edits, progress)
    }

    /// The run of a text, and the plain one beside it.
    pub fn run(
        &mut self,
        model: &Model,
        input: Input,
        forward: &Recipe,
        watcher: &mut dyn Probe,
    ) -> Result<Ran, ModelError> {
        let plain = match self.plain.take_if(|known| known.run().input == input) {
            Some(known) => known,
            None => model.trace(input.clone(), Plan::default(), Vec::new(), self.plain.as_ref(), watcher)?,
        };
        let plain = self.plain.insert(plain);
        let run = if forward.edits.is_empty() {
            plain.run().clone()
        } else {
            let plan = Plan::of_those_that_apply(model, &input, &forward.edits, &mut self.sources);
            let shared = |base: &&Traced| base.shared_layers(&input, &plan);
            let base = self.edited.iter().chain([&*plain]).max_by_key(shared);
            let edited = model.trace(input.clone(), plan, forward.edits.clone(), base, watcher)?;
            self.edited.insert(edited).run().clone()
        };
        let plain = plain.run().clone();
        let halves = match &forward.texts.b {
            Some(b) if model.info().is_sentence_model() && model.info().pooling.unavailable.is_none() => {
                Some(Box::new([
                    self.half(model, &forward.texts.a, &forward.edits)?,
                    self.half(model, b, &forward.edits)?,
                ]))
            }
            _ => None,
        };
        Ok(Ran { run, plain, halves })
    }

    /// One half of a pair by itself, before and after the edits.
    fn half(&mut self, model: &Model, text: &str, edits: &[Edit]) -> Result<Half, ModelError> {
        let input = model.tokenize(&Arc::new(Texts::single(text)))?;
        let plain = match self.halves.iter().find(|(known, _)| known == text) {
            Some((_, embedding)) => embedding.clone(),
            None => {
                let embedding = model.embed(input.clone(), &[], &mut self.sources)?;
                // Two halves, and the two that a reader may be going back to.
                if self.halves.len() >= 4 {
                    self.halves.remove(0);
                }
                self.halves.push((text.to_owned(), embedding.clone()));
                embedding
            }
        };
        let edited = if edits.is_empty() { plain.clone() } else { model.embed(input, edits, &mut self.sources)? };
        Ok(Half { plain, edited })
    }
}
