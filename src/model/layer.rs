use tch::{Kind, Tensor};

use super::weights::{LayerNorm, Linear, Weights};
use super::{Activation, Batch, Config, ModelError, Probe, Site};

/// One encoder layer: self-attention and feed-forward, each followed by a residual sum and a layer norm.
#[derive(Debug)]
pub(super) struct Layer {
    attention: SelfAttention,
    attention_norm: LayerNorm,
    widen: Linear,
    activation: Activation,
    narrow: Linear,
    output_norm: LayerNorm,
}

/// How a pass treats memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// Writes into buffers and in place, which autograd cannot follow.
    Fast,
    /// Every result is a tensor of its own, so that gradients can be taken.
    Differentiable,
}

/// What the layers of one pass share.
pub(super) struct Scratch {
    /// `[batch · heads, query, key]`, written over by each layer; `None` in a differentiable pass.
    weights: Option<Tensor>,
    /// `[batch · heads, 1, key]`, or one zero where nothing is padded.
    mask: Tensor,
    padded: bool,
}

impl Scratch {
    pub fn new(batch: &Batch, config: &Config, pace: Pace) -> Result<Self, ModelError> {
        let (maps, n) = ((batch.rows() * config.heads) as i64, batch.padded() as i64);
        let weights = match pace {
            Pace::Fast => Some(Tensor::f_empty([maps, n, n], (Kind::Float, tch::Device::Cpu))?),
            Pace::Differentiable => None,
        };
        let mask = match &batch.mask {
            // Row by row: all heads of a row share its mask.
            Some(mask) => mask.f_repeat_interleave_self_int(config.heads as i64, 0, None)?,
            None => Tensor::f_zeros([1, 1, 1], (Kind::Float, tch::Device::Cpu))?,
        };
        Ok(Self { weights, mask, padded: batch.mask.is_some() })
    }

    /// The mask for so many heads a row: `[batch · heads, 1, key]`, or one zero.
    fn mask_of(&self, rows: i64, heads: i64) -> Result<Tensor, ModelError> {
        let (all, _, n) = self.mask.size3()?;
        if !self.padded || all == rows * heads {
            return Ok(self.mask.shallow_clone());
        }
        Ok(self.mask.f_view([rows, all / rows, n])?.f_narrow(1, 0, heads)?.f_reshape([rows * heads, 1, n])?)
    }
}

impl Layer {
    pub fn load(weights: &Weights<'_>, config: &Config, layer: usize) -> Result<Self, ModelError> {
        let name = |part: &str| format!("encoder.layer.{layer}.{part}");
        let (hidden, inner, eps) = (config.hidden, config.intermediate, config.layer_norm_eps);
        Ok(Self {
            attention: SelfAttention::load(weights, config, layer)?,
            attention_norm: weights.layer_norm(&name("attention.output.LayerNorm"), hidden, eps)?,
            widen: weights.linear(&name("intermediate.dense"), inner, hidden)?,
            activation: config.activation,
            narrow: weights.linear(&name("output.dense"), hidden, inner)?,
            output_norm: weights.layer_norm(&name("output.LayerNorm"), hidden, eps)?,
        })
    }

    pub fn forward(
        &self,
        index: usize,
        hidden: &Tensor,
        batch: &Batch,
        scratch: &mut Scratch,
        probe: &mut dyn Probe,
    ) -> Result<Tensor, ModelError> {
        let pace = if scratch.weights.is_some() { Pace::Fast } else { Pace::Differentiable };
        let sum = self.attention.forward(index, hidden, batch, scratch, probe)?;
        let attended = self.attention_norm.forward(&add(pace, sum, hidden)?)?;
        let wide = activate(pace, self.activation, self.widen.forward(&attended)?)?;
        self.output_norm.forward(&add(pace, self.narrow.forward(&wide)?, &attended)?)
    }

    pub fn parameters(&self) -> usize {
        self.attention.qkv.parameters()
            + self.attention.output.parameters()
            + self.attention_norm.parameters()
            + self.widen.parameters()
            + self.narrow.parameters()
            + self.output_norm.parameters()
    }
}

fn add(pace: Pace, mut sum: Tensor, other: &Tensor) -> Result<Tensor, ModelError> {
    Ok(match pace {
        Pace::Fast => sum.f_add_(other)?,
        Pace::Differentiable => sum.f_add(other)?,
    })
}

pub(super) fn activate(pace: Pace, activation: Activation, mut x: Tensor) -> Result<Tensor, ModelError> {
    Ok(match (pace, activation) {
        (Pace::Fast, Activation::Gelu) => x.f_gelu_("none")?,
        (Pace::Fast, Activation::GeluTanh) => x.f_gelu_("tanh")?,
        (Pace::Fast, Activation::Relu) => x.f_relu_()?,
        (Pace::Fast, Activation::Silu) => x.f_silu_()?,
        (Pace::Fast, Activation::Tanh) => x.f_tanh_()?,
        (Pace::Differentiable, Activation::Gelu) => x.f_gelu("none")?,
        (Pace::Differentiable, Activation::GeluTanh) => x.f_gelu("tanh")?,
        (Pace::Differentiable, Activation::Relu) => x.f_relu()?,
        (Pace::Differentiable, Activation::Silu) => x.f_silu()?,
        (Pace::Differentiable, Activation::Tanh) => x.f_tanh()?,
    })
}

/// softmax(Q Kᵀ / √d) V W_O (Vaswani et al. 2017)
#[derive(Debug)]
struct SelfAttention {
    /// Query, key and value projections, one under the other: `[3 · hidden, hidden]`.
    qkv: Linear,
    output: Linear,
    /// All heads, those that were pruned included.
    heads: i64,
    /// The numbers of the heads that are left, `[left]`; `None` where none was pruned.
    left: Option<Tensor>,
    head_dim: i64,
}

impl SelfAttention {
    fn load(weights: &Weights<'_>, config: &Config, layer: usize) -> Result<Self, ModelError> {
        let left = config.heads_left(layer);
        let (hidden, width) = (config.hidden, left.len() * config.head_dim());
        let part =
            |name: &str, out, into| weights.linear(&format!("encoder.layer.{layer}.attention.{name}"), out, into);
        let projection = |name: &str| part(name, width, hidden);
        let (query, key, value) = (projection("self.query")?, projection("self.key")?, projection("self.value")?);
        let all = left.len() == config.heads;
        let numbers: Vec<i64> = left.into_iter().map(|head| head as i64).collect();
        Ok(Self {
            qkv: Linear {
                weight: Tensor::f_cat(&[query.weight, key.weight, value.weight], 0)?,
                bias: Tensor::f_cat(&[query.bias, key.bias, value.bias], 0)?,
            },
            output: part("output.dense", hidden, width)?,
            heads: config.heads as i64,
            left: if all { None } else { Some(Tensor::f_from_slice(&numbers)?) },
            head_dim: config.head_dim() as i64,
        })
    }

    /// The attention block's output before the residual sum, `[batch, token, hidden]`.
    fn forward(
        &self,
        layer: usize,
        hidden: &Tensor,
        batch: &Batch,
        scratch: &mut Scratch,
        probe: &mut dyn Probe,
    ) -> Result<Tensor, ModelError> {
        let (rows, n, d) = (batch.rows() as i64, batch.padded() as i64, self.head_dim);
        let heads = self.left.as_ref().map_or(self.heads, |left| left.numel() as i64);
        let each_head = [rows, heads, n, n];
        // [3, batch · heads, token, head_dim]
        let qkv = self.qkv.forward(hidden)?.f_view([rows, n, 3, heads, d])?.f_permute([2, 0, 3, 1, 4])?;
        let qkv = qkv.f_reshape([3, rows * heads, n, d])?;
        let (query, key, value) = (qkv.f_select(0, 0)?, qkv.f_select(0, 1)?, qkv.f_select(0, 2)?);

        // Scale and mask in one pass over the product. With a factor of 0 the mask is not read.
        let scale = 1.0 / (d as f64).sqrt();
        let masked = if scratch.padded { 1.0 } else { 0.0 };
        let mask = scratch.mask_of(rows, heads)?;
        let scores = mask.f_baddbmm(&query, &key.f_transpose(1, 2)?, masked, scale)?;
        let scores = self.visit(layer, Site::Scores, scores.f_view(each_head)?, probe)?;

        let scores = scores.f_reshape([rows * heads, n, n])?;
        let weights = match &scratch.weights {
            Some(buffer) => {
                let buffer = buffer.f_narrow(0, 0, rows * heads)?;
                let _in_buffer = scores.f_softmax_int_out(&buffer, -1, Kind::Float)?;
                buffer.f_view(each_head)?
            }
            None => scores.f_softmax(-1, Kind::Float)?.f_view(each_head)?,
        };
        let weights = self.visit(layer, Site::Weights, weights, probe)?;

        let context = weights.f_reshape([rows * heads, n, n])?.f_bmm(&value)?.f_view([rows, heads, n, d])?;
        let context = self.visit(layer, Site::Context, context, probe)?;
        self.output.forward(&context.f_transpose(1, 2)?.f_reshape([rows, n, heads * d])?)
    }

    /// Shows a probe the tensor `[batch, head, …]` of all heads: one that was pruned keeps its number, and is 0.
    fn visit(&self, layer: usize, site: Site, tensor: Tensor, probe: &mut dyn Probe) -> Result<Tensor, ModelError> {
        let Some(left) = &self.left else { return probe.visit(layer, site, tensor) };
        if !probe.watches() {
            return Ok(tensor);
        }
        let mut size = tensor.size();
        size[1] = self.heads;
        let all = Tensor::f_zeros(size, (Kind::Float, tch::Device::Cpu))?.f_index_copy(1, left, &tensor)?;
        Ok(probe.visit(layer, site, all)?.f_index_select(1, left)?)
    }
}
