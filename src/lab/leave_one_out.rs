use std::any::Any;
use std::sync::Arc;

use ndarray::Array2;
use tch::Tensor;

use super::gauge::{Gauge, Reading};
use super::target::{Example, Target};
use crate::engine::{Experiment, Progress};
use crate::metrics::none_last;
use crate::model::{Batch, Boundaries, Model, ModelError, Probe, Site};
use crate::run::{HeadId, Input};

/// The effect of switching each head off by itself, on one text or pair or on many.
#[derive(Debug, Clone, PartialEq)]
pub struct LeaveOneOut {
    pub examples: Arc<Vec<Example>>,
    pub target: Target,
}

/// Effects of all heads: the target in the plain model less the target without the head. Positive: the head raises
/// the target.
#[derive(Debug, Clone, PartialEq)]
pub struct Importance {
    pub spec: LeaveOneOut,
    /// Mean over the texts, `[layer, head]`; NaN where an experiment under way has not come yet.
    pub effect: Array2<f32>,
    /// Half the width of the 95 % interval of that mean (normal approximation), `[layer, head]`; `None` for one text.
    pub interval: Option<Array2<f32>>,
    /// The target in the plain model, mean over the texts.
    pub plain: f32,
}

impl Importance {
    /// Heads with their effect and the half width of its interval, most important first: those that raise the target
    /// most or, where the target is a cost, lower it most. Heads whose effect is no number come last.
    pub fn ranked(&self) -> Vec<(HeadId, f32, Option<f32>)> {
        let interval = |at| self.interval.as_ref().map(|interval| interval[at]);
        let all = self.effect.indexed_iter();
        let mut heads: Vec<_> = all.map(|(at, &effect)| (HeadId::new(at.0, at.1), effect, interval(at))).collect();
        let sign = if self.spec.target.is_cost() { -1.0 } else { 1.0 };
        heads.sort_by(|a, b| none_last(sign * b.1).total_cmp(&none_last(sign * a.1)));
        heads
    }

    /// What switching off a head at random does: the mean and the standard deviation of the effect over heads.
    pub fn random_head(&self) -> (f32, f32) {
        let known: ndarray::Array1<f32> = self.effect.iter().copied().filter(|effect| effect.is_finite()).collect();
        (known.mean().unwrap_or(0.0), if known.is_empty() { 0.0 } else { known.std(0.0) })
    }
}

impl Experiment for LeaveOneOut {
    fn name(&self) -> String {
        format!("leave-one-out on {} texts", self.examples.len())
    }

    fn run(
        &mut self,
        model: &Model,
        progress: &mut dyn FnMut(Progress) -> Result<(), ModelError>,
    ) -> Result<Box<dyn Any + Send>, ModelError> {
        let layers = model.info().layers;
        let total = self.examples.len() * layers;
        let mut sums = Sums::new(layers, model.info().heads);
        for (number, example) in self.examples.iter().enumerate() {
            let gauge = Gauge::new(model, &self.target, example)?;
            let sides: Vec<Whole> =
                gauge.inputs.iter().map(|input| Whole::run(model, &gauge, input)).collect::<Result<_, _>>()?;
            let plain = gauge.value(sides.iter().map(|side| (&side.plain, &side.plain)));
            sums.plain += f64::from(plain);
            sums.texts += 1;
            for layer in 0..layers {
                let found = (number + layer > 0).then(|| Arc::new(sums.importance(self)) as _);
                progress(Progress { done: number * layers + layer, total, found })?;
                let without: Vec<Vec<Reading>> =
                    sides.iter().map(|side| side.without_each(model, &gauge, layer)).collect::<Result<_, _>>()?;
                for head in 0..model.info().heads {
                    let readings = sides.iter().zip(&without).map(|(side, without)| (&side.plain, &without[head]));
                    sums.add(layer, head, f64::from(plain) - f64::from(gauge.value(readings)));
                }
                sums.counts[layer] += 1;
            }
        }
        Ok(Box::new(sums.importance(self)))
    }
}

/// Effects added up over texts.
struct Sums {
    /// `[layer, head]`
    effects: Array2<f64>,
    squares: Array2<f64>,
    /// How many texts each layer has been through.
    counts: Vec<usize>,
    plain: f64,
    texts: usize,
}

impl Sums {
    fn new(layers: usize, heads: usize) -> Self {
        let zeros = Array2::zeros((layers, heads));
        Self { effects: zeros.clone(), squares: zeros, counts: vec![0; layers], plain: 0.0, texts: 0 }
    }

    fn add(&mut self, layer: usize, head: usize, effect: f64) {
        self.effects[[layer, head]] += effect;
        self.squares[[layer, head]] += effect * effect;
    }

    /// What is known so far: NaN in layers that no text has been through.
    fn importance(&self, spec: &LeaveOneOut) -> Importance {
        let count = |layer: usize| self.counts[layer] as f64;
        let mean = |(layer, head): (usize, usize)| self.effects[[layer, head]] / count(layer);
        let half_width = |(layer, head): (usize, usize)| {
            let n = count(layer);
            let variance = self.squares[[layer, head]] / n - mean((layer, head)).powi(2);
            1.959_964 * (variance.max(0.0) / (n - 1.0)).sqrt()
        };
        let shape = self.effects.dim();
        Importance {
            spec: spec.clone(),
            effect: Array2::from_shape_fn(shape, |at| mean(at) as f32),
            interval: (self.texts > 1).then(|| Array2::from_shape_fn(shape, |at| half_width(at) as f32)),
            plain: (self.plain / self.texts.max(1) as f64) as f32,
        }
    }
}

/// Numbers that one batch of attention scores may have: 64 million take 256 MB.
const MOST_SCORES: usize = 64_000_000;

/// A text's plain pass, from which those without a head go on.
struct Whole<'a> {
    input: &'a Input,
    boundaries: Boundaries,
    plain: Reading,
}

impl<'a> Whole<'a> {
    fn run(model: &Model, gauge: &Gauge<'_>, input: &'a Input) -> Result<Self, ModelError> {
        let batch = Batch::from_tokens(&[&input.tokens])?;
        let mut boundaries = Boundaries::default();
        let last = model.encoder().forward(&batch, &mut boundaries)?;
        let plain = gauge.read(&last)?.pop().ok_or(ModelError::Empty)?;
        Ok(Self { input, boundaries, plain })
    }

    /// What is read without each head of a layer. The layers before it are not computed again, and its heads go through
    /// the rest of the model together, one in each row of a batch.
    fn without_each(&self, model: &Model, gauge: &Gauge<'_>, layer: usize) -> Result<Vec<Reading>, ModelError> {
        let (heads, n) = (model.info().heads, self.input.tokens.len());
        let rows = (MOST_SCORES / (heads * n * n).max(1)).clamp(1, heads);
        let entering = self.boundaries.0.get(layer).ok_or(ModelError::Empty)?;
        let mut readings = Vec::with_capacity(heads);
        for first in (0..heads).step_by(rows) {
            let count = rows.min(heads - first);
            let batch = Batch::from_tokens(&vec![self.input.tokens.as_slice(); count])?;
            let hidden = entering.f_repeat([count as i64, 1, 1])?;
            let last = model.encoder().forward_from(layer, hidden, &batch, &mut OneHeadARow { layer, first })?;
            readings.extend(gauge.read(&last)?);
        }
        Ok(readings)
    }
}

/// In row r of the batch, head `first + r` of one layer hands on nothing.
struct OneHeadARow {
    layer: usize,
    first: usize,
}

impl Probe for OneHeadARow {
    fn visit(&mut self, layer: usize, site: Site, tensor: Tensor) -> Result<Tensor, ModelError> {
        if layer == self.layer && site == Site::Context {
            let (rows, ..) = tensor.size4()?;
            for row in 0..rows {
                let _ = tensor.f_select(0, row)?.f_select(0, row + self.first as i64)?.f_zero_()?;
            }
        }
        Ok(tensor)
    }
}
