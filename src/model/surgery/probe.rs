//! The probe that carries a plan out.

use std::collections::BTreeMap;

use ndarray::Array2;
use tch::{Kind, Tensor};

use super::plan::{ContextRule, HeadPlan, Plan, WeightsRule};
use crate::model::capture::plain;
use crate::model::{Batch, ModelError, Probe, Site};

/// Carries a plan out during a forward pass.
///
/// Held patterns and contexts are those of one text: a plan with any fits only batches in which every row has that
/// text's length. All other interventions treat each row of a batch by its own length.
pub struct Surgery<'a> {
    plan: &'a Plan,
    /// `[batch, 1, token]`: 1 for a real token, 0 for padding.
    real: Tensor,
    tokens: usize,
    /// Of the layer under way: for heads with cut edges, what the weights would be without the cut.
    uncut: BTreeMap<usize, Tensor>,
    /// Of the layer under way: for heads with cut edges, `[batch, query, 1]`, true where no edge is left.
    dead: BTreeMap<usize, Tensor>,
    /// Kept for layers in which weights are changed: the model's own weights, `[batch, heads, query, key]`.
    computed: BTreeMap<usize, Vec<f32>>,
}

impl<'a> Surgery<'a> {
    /// Prepares a plan for a batch.
    ///
    /// # Errors
    /// [`ModelError::Torch`] if memory is short.
    pub fn new(plan: &'a Plan, batch: &Batch) -> Result<Self, ModelError> {
        let tokens = batch.padded();
        let lengths = batch.lengths();
        let real: Vec<f32> =
            lengths.iter().flat_map(|&length| (0..tokens).map(move |i| f32::from(u8::from(i < length)))).collect();
        let real = Tensor::f_from_slice(&real)?.f_view([lengths.len() as i64, 1, tokens as i64])?;
        let (uncut, dead, computed) = Default::default();
        Ok(Self { plan, real, tokens, uncut, dead, computed })
    }

    /// The model's own weights of a layer whose weights were changed, `[batch, heads, query, key]` in row-major order.
    pub fn take_computed(&mut self, layer: usize) -> Option<Vec<f32>> {
        self.computed.remove(&layer)
    }

    /// `[query, key]`: one number for edges that are cut, another for those that are kept.
    fn edges(&self, plan: &HeadPlan, kept: f32, cut: f32) -> Result<Tensor, ModelError> {
        let n = self.tokens;
        let edges = Array2::from_shape_fn((n, n), |(query, key)| if plan.cuts(query, key) { cut } else { kept });
        matrix(&edges)
    }

    fn on_scores(&mut self, layer: usize, scores: &Tensor) -> Result<(), ModelError> {
        (self.uncut, self.dead) = Default::default();
        for (head, plan) in self.plan.layer(layer).filter(|(_, plan)| plan.masks() && plan.weights.is_none()) {
            let mut own = scores.f_select(1, head as i64)?;
            self.uncut.insert(head, own.f_softmax(-1, Kind::Float)?);
            let _ = own.f_add_(&self.edges(plan, 0.0, f32::NEG_INFINITY)?)?;
            let largest = own.f_amax([-1].as_slice(), true)?;
            self.dead.insert(head, largest.f_eq(f64::NEG_INFINITY)?);
        }
        Ok(())
    }

    fn on_weights(&mut self, layer: usize, weights: &Tensor) -> Result<(), ModelError> {
        if !self.plan.changes_weights(layer) {
            return Ok(());
        }
        let mut own = weights.f_empty_like()?;
        own.f_copy_(weights)?;
        for (head, uncut) in &self.uncut {
            own.f_select(1, *head as i64)?.f_copy_(uncut)?;
        }
        self.computed.insert(layer, plain(&own)?);
        for (head, plan) in self.plan.layer(layer) {
            let mut applied = weights.f_select(1, head as i64)?;
            if let Some(rule) = &plan.weights {
                let replaced = self.replacement(rule, plan)?;
                applied.f_copy_(&replaced.f_expand_as(&applied)?)?;
            } else if let Some(dead) = self.dead.get(&head) {
                // The softmax of a row without any score is no number: such a row attends to nothing.
                let _ = applied.f_masked_fill_(dead, 0.0)?;
            }
        }
        Ok(())
    }

    /// Weights in place of the computed ones, `[batch or 1, query, key]`, without the edges that are cut.
    fn replacement(&self, rule: &WeightsRule, plan: &HeadPlan) -> Result<Tensor, ModelError> {
        let weights = match rule {
            WeightsRule::Uniform => {
                let each = self.real.f_div(&self.real.f_sum_dim_intlist([-1].as_slice(), true, Kind::Float)?)?;
                let size = each.size();
                each.f_expand([size[0], self.tokens as i64, self.tokens as i64], true)?.f_contiguous()?
            }
            WeightsRule::Held(held) => {
                if held.nrows() != self.tokens {
                    return Err(ModelError::BadInput(format!(
                        "a pattern of {} tokens for a batch of {}",
                        held.nrows(),
                        self.tokens
                    )));
                }
                matrix(held)?.f_unsqueeze(0)?
            }
        };
        if !plan.masks() {
            return Ok(weights);
        }
        let left = weights.f_mul(&self.edges(plan, 1.0, 0.0)?)?;
        let sum = left.f_sum_dim_intlist([-1].as_slice(), true, Kind::Float)?;
        // A row with nothing left stays all zero.
        Ok(left.f_div(&sum.f_masked_fill(&sum.f_eq(0.0)?, 1.0)?)?)
    }

    fn on_context(&self, layer: usize, context: &Tensor) -> Result<(), ModelError> {
        for (head, plan) in self.plan.layer(layer) {
            let mut own = context.f_select(1, head as i64)?;
            match &plan.context {
                None => {}
                Some(ContextRule::Zero) => {
                    let _ = own.f_zero_()?;
                }
                Some(ContextRule::MeanOfText) => {
                    // [batch, 1, token] · [batch, token, head_dim]
                    let count = self.real.f_sum_dim_intlist([-1].as_slice(), true, Kind::Float)?;
                    let mean = self.real.f_bmm(&own)?.f_div(&count)?;
                    own.f_copy_(&mean.f_expand_as(&own)?)?;
                }
                Some(ContextRule::Everywhere(vector)) => {
                    let vector = Tensor::f_from_slice(&vector.to_vec())?;
                    own.f_copy_(&vector.f_expand_as(&own)?)?;
                }
                Some(ContextRule::Held(held)) => own.f_copy_(&matrix(held)?.f_expand_as(&own)?)?,
            }
            if let Some(factor) = plan.scale {
                let _ = own.f_mul_scalar_(f64::from(factor))?;
            }
        }
        Ok(())
    }
}

impl Probe for Surgery<'_> {
    fn visit(&mut self, layer: usize, site: Site, tensor: Tensor) -> Result<Tensor, ModelError> {
        // The pass's own buffers are changed in place: heads that nothing is done to keep their numbers to the bit.
        match site {
            Site::Scores => self.on_scores(layer, &tensor)?,
            Site::Weights => self.on_weights(layer, &tensor)?,
            Site::Context => self.on_context(layer, &tensor)?,
            Site::Hidden => {}
        }
        Ok(tensor)
    }
}

fn matrix(array: &Array2<f32>) -> Result<Tensor, ModelError> {
    let values: Vec<f32> = array.iter().copied().collect();
    Ok(Tensor::f_from_slice(&values)?.f_view([array.nrows() as i64, array.ncols() as i64])?)
}
