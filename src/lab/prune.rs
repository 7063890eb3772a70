use std::any::Any;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use crate::engine::{Experiment, Progress};
use crate::model::{Batch, Model, ModelError, PrunedShape, prune, weight_bytes};
use crate::run::{Edit, HeadId, Intervention, Texts};

/// Removes heads for good: writes a new model folder, reads it back, and holds it against switching the heads off.
#[derive(Debug, Clone, PartialEq)]
pub struct Prune {
    pub heads: BTreeSet<HeadId>,
    pub shape: PrunedShape,
    /// The folder to write, which must not be there yet.
    pub out: PathBuf,
}

/// What pruning brought.
#[derive(Debug, Clone, PartialEq)]
pub struct PruneOutcome {
    pub spec: Prune,
    pub before: Weight,
    pub after: Weight,
    /// The greatest difference of the last hidden state from the original model with these heads switched off, relative
    /// to max(1, max |h|).
    pub difference: f32,
    /// Plain forward passes of one text, by its number of tokens.
    pub speed: Vec<Speed>,
}

/// How much there is of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weight {
    pub parameters: usize,
    pub bytes: u64,
}

/// Milliseconds of a forward pass in the original and the pruned model, in turn: quartiles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speed {
    pub tokens: usize,
    pub before: [f64; 3],
    pub after: [f64; 3],
}

impl Speed {
    /// How many times as fast the pruned model is, by medians.
    pub fn ratio(self) -> f64 {
        self.before[1] / self.after[1].max(f64::MIN_POSITIVE)
    }
}

impl PruneOutcome {
    /// The report for the reader, a line each.
    pub fn report(&self) -> Vec<String> {
        let share = |before: f64, after: f64| (after / before.max(1.0) - 1.0) * 100.0;
        let (old, new) = (self.before, self.after);
        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        let mut lines = vec![
            format!(
                "parameters {} → {} ({:+.1} %)",
                old.parameters,
                new.parameters,
                share(old.parameters as f64, new.parameters as f64)
            ),
            format!(
                "weights {:.1} MB → {:.1} MB ({:+.1} %)",
                megabytes(old.bytes),
                megabytes(new.bytes),
                share(old.bytes as f64, new.bytes as f64)
            ),
        ];
        for speed in &self.speed {
            let ([low, middle, high], [new_low, new_middle, new_high]) = (speed.before, speed.after);
            lines.push(format!(
                "{} tokens: {middle:.2} ms ({low:.2}–{high:.2}) → {new_middle:.2} ms ({new_low:.2}–{new_high:.2}), \
                 {:.2} times as fast",
                speed.tokens,
                speed.ratio()
            ));
        }
        lines.push(format!("last hidden state within {:.1e} of switching these heads off", self.difference));
        lines
    }
}

/// Passes that are timed for each model and length, after some that are not.
const PASSES: usize = 21;
const WARM_UP: usize = 3;
const LENGTHS: [usize; 2] = [16, 128];

impl Experiment for Prune {
    fn name(&self) -> String {
        format!("pruning {} heads", self.heads.len())
    }

    fn run(
        &mut self,
        model: &Model,
        progress: &mut dyn FnMut(Progress) -> Result<(), ModelError>,
    ) -> Result<Box<dyn Any + Send>, ModelError> {
        let total = 1 + LENGTHS.len();
        progress(Progress::new(0, total))?;
        let folder = &model.info().folder;
        prune(folder, &self.heads, self.shape, &self.out)?;
        let pruned = Model::open(&self.out)?;
        let difference = difference(model, &pruned, &self.heads)?;
        let mut speed = Vec::new();
        for (number, tokens) in LENGTHS.into_iter().enumerate() {
            progress(Progress::new(1 + number, total))?;
            speed.push(measure(model, &pruned, tokens.min(model.info().positions))?);
        }
        let weight = |model: &Model, bytes| Weight { parameters: model.info().parameters, bytes };
        Ok(Box::new(PruneOutcome {
            spec: self.clone(),
            before: weight(model, weight_bytes(folder)?),
            after: weight(&pruned, weight_bytes(&self.out)?),
            difference,
            speed,
        }))
    }
}

/// Token numbers of some text: those of a sentence where there is a tokenizer, else any.
fn sample(model: &Model, tokens: usize) -> Result<Vec<u32>, ModelError> {
    let words = "the quick brown fox jumps over the lazy dog ".repeat(tokens / 8 + 1);
    let ids: Vec<u32> = match model.tokenize_within(&Arc::new(Texts::single(words)), tokens) {
        Ok(input) => input.tokens.iter().map(|token| token.id).collect(),
        Err(ModelError::NoTokenizer) => (0..tokens).map(|at| (at * 7 % model.info().vocabulary) as u32).collect(),
        Err(error) => return Err(error),
    };
    Ok(ids)
}

/// How far the pruned model is from the original one with the heads off.
fn difference(model: &Model, pruned: &Model, heads: &BTreeSet<HeadId>) -> Result<f32, ModelError> {
    let words: Vec<String> = sample(model, 24.min(model.info().positions))?.iter().map(u32::to_string).collect();
    let edits: Vec<Edit> = heads.iter().map(|&head| Edit { heads: head.into(), what: Intervention::Zero }).collect();
    let off = model.run_edited(model.input_from_ids(&words.join(" "))?, &edits, &mut ())?;
    let gone = pruned.run(pruned.input_from_ids(&words.join(" "))?, &mut ())?;
    let pairs = off.last_hidden_state().into_iter().flatten().zip(gone.last_hidden_state().into_iter().flatten());
    let (most, scale) = pairs.fold((0f32, 1f32), |(most, scale), (a, b)| (most.max((a - b).abs()), scale.max(a.abs())));
    Ok(most / scale)
}

/// Both models in turn, so that whatever else the machine does meets both.
fn measure(model: &Model, pruned: &Model, tokens: usize) -> Result<Speed, ModelError> {
    let batch = Batch::from_ids(&[&sample(model, tokens)?])?;
    let mut times = [Vec::new(), Vec::new()];
    for pass in 0..WARM_UP + PASSES {
        for (model, times) in [model, pruned].into_iter().zip(&mut times) {
            let start = Instant::now();
            drop(model.encoder().forward(&batch, &mut ())?);
            if pass >= WARM_UP {
                times.push(start.elapsed().as_secs_f64() * 1e3);
            }
        }
    }
    let [before, after] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        [times[PASSES / 4], times[PASSES / 2], times[PASSES * 3 / 4]]
    });
    Ok(Speed { tokens: batch.padded(), before, after })
}
