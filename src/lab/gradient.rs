use std::any::Any;
use std::sync::Arc;

use ndarray::{Array2, Axis};
use tch::{Kind, Tensor};

use super::gauge::Gauge;
use super::target::{Example, Target};
use crate::engine::{Experiment, Progress};
use crate::metrics::none_last;
use crate::model::{Batch, Model, ModelError, Probe, Site};
use crate::run::{HeadId, Input};

/// Head importance by gradients (Michel et al. 2019): each head's context is multiplied by a gate ξ = 1, and a head is
/// as important as the target is sensitive to its gate, I = E |∂ target / ∂ξ|.
///
/// A text's own vector has no gradient to give, since its cosine with itself is at its maximum, and neither has accuracy.
#[derive(Debug, Clone, PartialEq)]
pub struct GradientImportance {
    pub examples: Arc<Vec<Example>>,
    pub target: Target,
}

/// Importance of all heads by gradients.
#[derive(Debug, Clone, PartialEq)]
pub struct Sensitivity {
    pub spec: GradientImportance,
    /// E |∂ target / ∂ξ|, the absolute value taken for each text, `[layer, head]`.
    pub raw: Array2<f32>,
    /// `raw`, each layer scaled to the Euclidean length 1; a layer without signal stays 0.
    pub normalized: Array2<f32>,
    /// Layers without signal, which were not scaled.
    pub silent: Vec<usize>,
}

impl Sensitivity {
    /// Heads with their gradient and the one scaled within its layer, greatest scaled one first.
    pub fn ranked(&self) -> Vec<(HeadId, f32, f32)> {
        let all = self.normalized.indexed_iter();
        let mut heads: Vec<_> = all.map(|(at, &scaled)| (HeadId::new(at.0, at.1), self.raw[at], scaled)).collect();
        heads.sort_by(|a, b| none_last(b.2).total_cmp(&none_last(a.2)));
        heads
    }
}

/// Below this a layer's gradients are rounding, and scaling them up would show noise.
const LEAST_SIGNAL: f32 = 1e-7;

impl Experiment for GradientImportance {
    fn name(&self) -> String {
        format!("gradient importance on {} texts", self.examples.len())
    }

    fn run(
        &mut self,
        model: &Model,
        progress: &mut dyn FnMut(Progress) -> Result<(), ModelError>,
    ) -> Result<Box<dyn Any + Send>, ModelError> {
        let info = model.info();
        let mut sum = Array2::<f32>::zeros((info.layers, info.heads));
        for (done, example) in self.examples.iter().enumerate() {
            progress(Progress::new(done, self.examples.len()))?;
            sum += &gradients(model, &self.target, example)?.mapv(f32::abs);
        }
        let raw = sum / self.examples.len().max(1) as f32;
        let mut normalized = raw.clone();
        let mut silent = Vec::new();
        for (layer, mut row) in normalized.axis_iter_mut(Axis(0)).enumerate() {
            let length = row.dot(&row).sqrt();
            if length <= LEAST_SIGNAL {
                row.fill(0.0);
                silent.push(layer);
            } else {
                // Gradients that are no numbers stay none.
                row /= length;
            }
        }
        Ok(Box::new(Sensitivity { spec: self.clone(), raw, normalized, silent }))
    }
}

/// ∂ target / ∂ξ of one text or pair, `[layer, head]`: one backward pass.
///
/// # Errors
/// [`ModelError`] if the target has no gradient, or the model nothing to read it from.
pub fn gradients(model: &Model, target: &Target, example: &Example) -> Result<Array2<f32>, ModelError> {
    let gauge = Gauge::new(model, target, example)?;
    let info = model.info();
    let shape = [info.layers as i64, info.heads as i64];
    let mut failure = None;
    // The engine's jobs run without gradients: here they are wanted.
    let gates = tch::with_grad(|| {
        let outcome = (|| -> Result<Tensor, ModelError> {
            let gates = Tensor::f_ones(shape, (Kind::Float, tch::Device::Cpu))?.f_set_requires_grad(true)?;
            let last = |input: &Input| {
                let batch = Batch::from_tokens(&[&input.tokens])?;
                model.encoder().forward_differentiable(&batch, &mut Gates(&gates))
            };
            let lasts = gauge.inputs.iter().map(last).collect::<Result<Vec<_>, _>>()?;
            gauge.differentiable(&lasts)?.f_backward()?;
            Ok(gates.f_grad()?)
        })();
        outcome.map_err(|error| failure = Some(error)).ok()
    });
    if let Some(error) = failure {
        return Err(error);
    }
    let gates = gates.filter(Tensor::defined).ok_or_else(|| ModelError::BadInput("there is no gradient".into()))?;
    let mut values = vec![0.0; info.layers * info.heads];
    let count = values.len();
    gates.f_copy_data(&mut values, count)?;
    Array2::from_shape_vec((info.layers, info.heads), values).map_err(|error| ModelError::BadInput(error.to_string()))
}

/// Multiplies each head's context by its gate, `[layer, head]`.
struct Gates<'a>(&'a Tensor);

impl Probe for Gates<'_> {
    fn visit(&mut self, layer: usize, site: Site, tensor: Tensor) -> Result<Tensor, ModelError> {
        if site != Site::Context {
            return Ok(tensor);
        }
        let gates = self.0.f_select(0, layer as i64)?.f_view([1, -1, 1, 1])?;
        Ok(tensor.f_mul(&gates)?)
    }
}
