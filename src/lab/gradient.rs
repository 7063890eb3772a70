use std::any::Any;
use std::sync::Arc;

use ndarray::{Array2, Axis};
use tch::{Kind, Tensor};

use crate::engine::{Experiment, Progress};
use crate::model::{Batch, Model, ModelError, Probe, Site};
use crate::run::{PoolingMode, Texts};

/// Head importance by gradients (Michel et al. 2019): each head's context is multiplied by a gate ξ = 1, and a head is
/// as important as the similarity of a pair is sensitive to its gate, I = E |∂ similarity / ∂ξ|.
///
/// A text's own vector has no gradient to give: its cosine with itself is at its maximum.
#[derive(Debug, Clone, PartialEq)]
pub struct GradientImportance {
    /// Pairs of texts.
    pub pairs: Arc<Vec<Texts>>,
}

/// Importance of all heads by gradients.
#[derive(Debug, Clone, PartialEq)]
pub struct Sensitivity {
    /// E |∂ similarity / ∂ξ|, the absolute value taken for each pair, `[layer, head]`.
    pub raw: Array2<f32>,
    /// `raw`, each layer scaled to the Euclidean length 1; a layer without signal stays 0.
    pub normalized: Array2<f32>,
    /// Layers without signal, which were not scaled.
    pub silent: Vec<usize>,
}

/// Below this a layer's gradients are rounding, and scaling them up would show noise.
const LEAST_SIGNAL: f32 = 1e-7;

impl Experiment for GradientImportance {
    fn name(&self) -> String {
        format!("gradient importance on {} pairs", self.pairs.len())
    }

    fn run(
        &mut self,
        model: &Model,
        progress: &mut dyn FnMut(Progress) -> Result<(), ModelError>,
    ) -> Result<Box<dyn Any + Send>, ModelError> {
        let info = model.info();
        let mut sum = Array2::<f32>::zeros((info.layers, info.heads));
        for (done, pair) in self.pairs.iter().enumerate() {
            progress(Progress { done, total: self.pairs.len() })?;
            sum += &gradients(model, pair)?.mapv(f32::abs);
        }
        let raw = sum / self.pairs.len().max(1) as f32;
        let mut normalized = raw.clone();
        let mut silent = Vec::new();
        for (layer, mut row) in normalized.axis_iter_mut(Axis(0)).enumerate() {
            let length = row.dot(&row).sqrt();
            if length > LEAST_SIGNAL {
                row /= length;
            } else {
                row.fill(0.0);
                silent.push(layer);
            }
        }
        Ok(Box::new(Sensitivity { raw, normalized, silent }))
    }
}

/// ∂ similarity / ∂ξ of one pair, `[layer, head]`: one backward pass.
pub fn gradients(model: &Model, pair: &Texts) -> Result<Array2<f32>, ModelError> {
    let Some(b) = &pair.b else {
        return Err(ModelError::BadInput("gradient importance needs pairs of texts".into()));
    };
    let info = model.info();
    let shape = [info.layers as i64, info.heads as i64];
    let mut failure = None;
    // The engine's jobs run without gradients: here they are wanted.
    let gates = tch::with_grad(|| {
        let outcome = (|| -> Result<Tensor, ModelError> {
            let gates = Tensor::f_ones(shape, (Kind::Float, tch::Device::Cpu))?.f_set_requires_grad(true)?;
            let (a, b) = (vector(model, &pair.a, &gates)?, vector(model, b, &gates)?);
            let lengths = a.f_norm()?.f_mul(&b.f_norm()?)?;
            a.f_dot(&b)?.f_div(&lengths)?.f_backward()?;
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

/// A text's vector before scaling, which a cosine does not see, with gates on all heads.
fn vector(model: &Model, text: &str, gates: &Tensor) -> Result<Tensor, ModelError> {
    let input = model.tokenize(&Arc::new(Texts::single(text)))?;
    let batch = Batch::from_tokens(&[&input.tokens])?;
    let last = model.encoder().forward_differentiable(&batch, &mut Gates(gates))?.f_select(0, 0)?;
    Ok(match model.info().pooling.mode {
        PoolingMode::Cls => last.f_select(0, 0)?,
        PoolingMode::Mean => last.f_mean_dim([0].as_slice(), false, Kind::Float)?,
        PoolingMode::Max => last.f_amax([0].as_slice(), false)?,
    })
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
