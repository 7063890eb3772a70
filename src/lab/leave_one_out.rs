use std::any::Any;
use std::sync::Arc;

use ndarray::Array2;
use tch::Tensor;

use super::gauge::{Gauge, Reading};
use super::target::{Example, Target};
use crate::engine::{Experiment, Progress};
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
    /// Mean over the texts, `[layer, head]`.
    pub effect: Array2<f32>,
    /// Half the width of the 95 % interval of that mean (normal approximation), `[layer, head]`; `None` for one text.
    pub interval: Option<Array2<f32>>,
    /// The target in the plain model, mean over the texts.
    pub plain: f32,
}

impl Importance {
    /// Heads with their effect and the half width of its interval, most important first: those that raise the target
    /// most or, where the target is a cost, lower it most.
    pub fn ranked(&self) -> Vec<(HeadId, f32, Option<f32>)> {
        let interval = |at| self.interval.as_ref().map(|interval| interval[at]);
        let all = self.effect.indexed_iter();
        let mut heads: Vec<_> = all.map(|(at, &effect)| (HeadId::new(at.0, at.1), effect, interval(at))).collect();
        let sign = if self.spec.target.is_cost() { -1.0 } else { 1.0 };
        heads.sort_by(|a, b| (sign * b.1).total_cmp(&(sign * a.1)));
        heads
    }

    /// What switching off a head at random does: the mean and the standard deviation of the effect over heads.
    pub fn random_head(&self) -> (f32, f32) {
        (self.effect.mean().unwrap_or(0.0), self.effect.std(0.0))
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
        let info = model.info();
        let shape = (info.layers, info.heads);
        let (mut sum, mut squares) = (Array2::<f64>::zeros(shape), Array2::<f64>::zeros(shape));
        let mut plain_sum = 0.0;
        let total = self.examples.len() * info.layers;
        for (number, example) in self.examples.iter().enumerate() {
            let gauge = Gauge::new(model, &self.target, example)?;
            let mut text_progress = |layer: usize| progress(Progress { done: number * info.layers + layer, total });
            let sides: Vec<Ablated> = (gauge.inputs.iter())
                .map(|input| ablate(model, &gauge, input, &mut text_progress))
                .collect::<Result<_, _>>()?;
            let plain = gauge.value(sides.iter().map(|side| (&side.plain, &side.plain)));
            plain_sum += f64::from(plain);
            for layer in 0..info.layers {
                for head in 0..info.heads {
                    let without = sides.iter().map(|side| (&side.plain, &side.without[layer][head]));
                    let effect = f64::from(plain) - f64::from(gauge.value(without));
                    sum[[layer, head]] += effect;
                    squares[[layer, head]] += effect * effect;
                }
            }
        }
        let count = self.examples.len().max(1) as f64;
        let effect = sum.mapv(|sum| sum / count);
        let interval = (self.examples.len() > 1).then(|| {
            let variance = (&squares / count - &effect * &effect).mapv(|v| v.max(0.0) * count / (count - 1.0));
            variance.mapv(|variance| (1.959_964 * (variance / count).sqrt()) as f32)
        });
        Ok(Box::new(Importance {
            spec: self.clone(),
            effect: effect.mapv(|effect| effect as f32),
            interval,
            plain: (plain_sum / count) as f32,
        }))
    }
}

/// What is read of one text in the plain model, and without each head.
struct Ablated {
    plain: Reading,
    /// `[layer][head]`
    without: Vec<Vec<Reading>>,
}

/// Numbers that one batch of attention scores may have: 64 million take 256 MB.
const MOST_SCORES: usize = 64_000_000;

/// Switches each head off by itself. The layers before it are computed once, and the heads of a layer go through the
/// rest of the model together, one in each row of a batch.
fn ablate(
    model: &Model,
    gauge: &Gauge<'_>,
    input: &Input,
    progress: &mut dyn FnMut(usize) -> Result<(), ModelError>,
) -> Result<Ablated, ModelError> {
    let (encoder, info) = (model.encoder(), model.info());
    let single = Batch::from_tokens(&[&input.tokens])?;
    let mut boundaries = Boundaries::default();
    let last = encoder.forward(&single, &mut boundaries)?;
    let plain = gauge.read(&last)?.pop().ok_or(ModelError::Empty)?;
    let n = input.tokens.len();
    let rows = (MOST_SCORES / (info.heads * n * n).max(1)).clamp(1, info.heads);
    let mut without = Vec::with_capacity(info.layers);
    for (layer, entering) in boundaries.0.iter().enumerate() {
        progress(layer)?;
        let mut readings = Vec::with_capacity(info.heads);
        for first in (0..info.heads).step_by(rows) {
            let count = rows.min(info.heads - first);
            let batch = Batch::from_tokens(&vec![input.tokens.as_slice(); count])?;
            let hidden = entering.f_repeat([count as i64, 1, 1])?;
            let last = encoder.forward_from(layer, hidden, &batch, &mut OneHeadARow { layer, first })?;
            readings.extend(gauge.read(&last)?);
        }
        without.push(readings);
    }
    Ok(Ablated { plain, without })
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
