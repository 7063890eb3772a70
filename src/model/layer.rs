use tch::{Kind, Tensor};

use super::checkpoint::{LayerNorm, Linear, Weights};
use super::{Activation, Batch, Config, ModelError, Probe, Projections, Site};

/// One encoder layer: self-attention and feed-forward, each with a residual sum and a layer norm.
#[derive(Debug)]
pub(super) struct Layer {
    pub attention: SelfAttention,
    pub norms: Norms,
    pub feed_forward: FeedForward,
    /// Added to the layer's output, from what entered it (DeBERTa v2).
    pub convolution: Option<Convolution>,
}

/// Where the layer norms are.
#[derive(Debug)]
pub(super) enum Norms {
    /// On each residual sum.
    After { attention: LayerNorm, output: LayerNorm },
    /// On what enters each block, outside the residual sum.
    Before { attention: Option<LayerNorm>, output: LayerNorm },
}

#[derive(Debug)]
pub(super) enum FeedForward {
    Plain {
        widen: Linear,
        activation: Activation,
        narrow: Linear,
    },
    /// The first half of the wide vector is activated and multiplied by the second (Shazeer 2020).
    Gated {
        widen: Linear,
        activation: Activation,
        narrow: Linear,
    },
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
    pub fn forward(
        &self,
        index: usize,
        hidden: &Tensor,
        batch: &Batch,
        scratch: &mut Scratch,
        probe: &mut dyn Probe,
    ) -> Result<Tensor, ModelError> {
        let pace = if scratch.weights.is_some() { Pace::Fast } else { Pace::Differentiable };
        let output = match &self.norms {
            Norms::After { attention, output } => {
                let sum = self.attention.forward(index, hidden, batch, scratch, probe)?;
                let attended = attention.forward(&add(pace, sum, hidden)?)?;
                output.forward(&add(pace, self.feed_forward.forward(pace, &attended)?, &attended)?)?
            }
            Norms::Before { attention, output } => {
                let entering = match attention {
                    Some(norm) => norm.forward(hidden)?,
                    None => hidden.shallow_clone(),
                };
                let sum = self.attention.forward(index, &entering, batch, scratch, probe)?;
                let attended = add(pace, sum, hidden)?;
                add(pace, self.feed_forward.forward(pace, &output.forward(&attended)?)?, &attended)?
            }
        };
        match &self.convolution {
            Some(convolution) => convolution.forward(hidden, &output, batch),
            None => Ok(output),
        }
    }

    pub fn parameters(&self) -> usize {
        let norms = match &self.norms {
            Norms::After { attention, output } => attention.parameters() + output.parameters(),
            Norms::Before { attention, output } => {
                attention.as_ref().map_or(0, LayerNorm::parameters) + output.parameters()
            }
        };
        let (FeedForward::Plain { widen, narrow, .. } | FeedForward::Gated { widen, narrow, .. }) = &self.feed_forward;
        self.attention.qkv.parameters()
            + self.attention.output.parameters()
            + self.attention.rule.parameters()
            + norms
            + widen.parameters()
            + narrow.parameters()
            + self.convolution.as_ref().map_or(0, Convolution::parameters)
    }
}

impl FeedForward {
    fn forward(&self, pace: Pace, x: &Tensor) -> Result<Tensor, ModelError> {
        match self {
            Self::Plain { widen, activation, narrow } => {
                narrow.forward(&activate(pace, *activation, widen.forward(x)?)?)
            }
            Self::Gated { widen, activation, narrow } => {
                let wide = widen.forward(x)?;
                let inner = narrow.weight.size2()?.1;
                let gate = wide.f_narrow(-1, inner, inner)?;
                let input = activate(Pace::Differentiable, *activation, wide.f_narrow(-1, 0, inner)?)?;
                narrow.forward(&input.f_mul(&gate)?)
            }
        }
    }
}

/// A convolution along the text, added to a layer's output and normalised (He et al. 2021).
#[derive(Debug)]
pub(super) struct Convolution {
    /// `[hidden, hidden / groups, width]`
    pub weight: Tensor,
    pub bias: Tensor,
    pub groups: i64,
    pub activation: Activation,
    pub norm: LayerNorm,
}

impl Convolution {
    fn forward(&self, entering: &Tensor, output: &Tensor, batch: &Batch) -> Result<Tensor, ModelError> {
        let width = self.weight.size3()?.2;
        // [batch, token, 1]: padding must not reach the tokens beside it.
        let real = batch.mask.as_ref().map(|mask| mask.f_eq(0.0)?.f_to_kind(Kind::Float)?.f_transpose(1, 2));
        let real = real.transpose()?;
        let within = |x: Tensor| -> Result<Tensor, ModelError> {
            Ok(real.as_ref().map_or(Ok(x.shallow_clone()), |real| x.f_mul(real))?)
        };
        let across = within(entering.shallow_clone())?.f_transpose(1, 2)?.f_contiguous()?;
        let padding = [(width - 1) / 2];
        let out = across.f_conv1d(&self.weight, Some(&self.bias), [1], padding, [1], self.groups)?;
        let out = within(out.f_transpose(1, 2)?.f_contiguous()?)?;
        let out = activate(Pace::Differentiable, self.activation, out)?;
        within(self.norm.forward(&output.f_add(&out)?)?)
    }

    fn parameters(&self) -> usize {
        self.weight.numel() + self.bias.numel() + self.norm.parameters()
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

/// softmax(Q Kᵀ / √d) V W_O (Vaswani et al. 2017), the scores by a rule of the family's.
#[derive(Debug)]
pub(super) struct SelfAttention {
    /// Query, key and value projections, one under the other: `[3 · hidden, hidden]`.
    qkv: Linear,
    output: Linear,
    rule: Box<dyn ScoreRule>,
    /// All heads, those that were pruned included.
    heads: i64,
    /// The numbers of the heads that are left, `[left]`; `None` where none was pruned.
    left: Option<Tensor>,
    head_dim: i64,
}

/// Names of the four projections.
pub(super) struct AttentionNames {
    pub query: String,
    pub key: String,
    pub value: String,
    pub output: String,
}

/// How scores are made of queries and keys. Anything beyond their scaled product is a family's own.
pub(super) trait ScoreRule: std::fmt::Debug + Send {
    /// Scaled and masked scores, `[batch · heads, query, key]`.
    fn scores(&self, input: &ScoreInput<'_>) -> Result<Tensor, ModelError>;

    /// Weights that it holds for its layer alone.
    fn parameters(&self) -> usize {
        0
    }
}

/// What scores are made of.
#[derive(Clone, Copy)]
pub(super) struct ScoreInput<'a> {
    /// `[batch · heads, token, head_dim]`
    pub query: &'a Tensor,
    pub key: &'a Tensor,
    /// `[batch · heads, 1, key]`: −∞ for padding; one zero where nothing is padded.
    pub mask: &'a Tensor,
    pub padded: bool,
    pub rows: i64,
    pub tokens: i64,
    pub head_dim: i64,
}

/// Q Kᵀ / √d alone.
#[derive(Debug)]
pub(super) struct PlainScores;

impl ScoreRule for PlainScores {
    fn scores(&self, input: &ScoreInput<'_>) -> Result<Tensor, ModelError> {
        plain_scores(input)
    }
}

/// Q Kᵀ / √d with the mask, in one pass over the product.
pub(super) fn plain_scores(input: &ScoreInput<'_>) -> Result<Tensor, ModelError> {
    // With a factor of 0 the mask is not read.
    let masked = if input.padded { 1.0 } else { 0.0 };
    let scale = 1.0 / (input.head_dim as f64).sqrt();
    Ok(input.mask.f_baddbmm(input.query, &input.key.f_transpose(1, 2)?, masked, scale)?)
}

/// Scores with the mask.
pub(super) fn masked(input: &ScoreInput<'_>, scores: &Tensor) -> Result<Tensor, ModelError> {
    Ok(if input.padded { scores.f_add(input.mask)? } else { scores.shallow_clone() })
}

impl SelfAttention {
    /// Projections that lie apart, of the heads that are left.
    pub fn load(
        weights: &Weights<'_>,
        config: &Config,
        left: &[usize],
        names: &AttentionNames,
        rule: Box<dyn ScoreRule>,
    ) -> Result<Self, ModelError> {
        let (hidden, width) = (config.hidden, left.len() * config.head_dim());
        let part = |name: &str| weights.linear(name, width, hidden);
        let (query, key, value) = (part(&names.query)?, part(&names.key)?, part(&names.value)?);
        let biases = [&query, &key, &value].map(|linear| linear.bias.as_ref());
        let biases: Vec<&Tensor> = biases.into_iter().flatten().collect();
        let qkv = Linear {
            weight: Tensor::f_cat(&[&query.weight, &key.weight, &value.weight], 0)?,
            bias: Some(Tensor::f_cat(&biases, 0)?),
        };
        let mut attention = Self::new(config, qkv, weights.linear(&names.output, hidden, width)?, rule);
        if left.len() < config.heads {
            let numbers: Vec<i64> = left.iter().map(|&head| head as i64).collect();
            attention.left = Some(Tensor::f_from_slice(&numbers)?);
        }
        Ok(attention)
    }

    pub fn new(config: &Config, qkv: Linear, output: Linear, rule: Box<dyn ScoreRule>) -> Self {
        Self { qkv, output, rule, heads: config.heads as i64, left: None, head_dim: config.head_dim() as i64 }
    }

    /// The part of W_O that takes in what stands at a place among the heads that are left, `[hidden, head_dim]`.
    pub fn output_of(&self, place: i64) -> Result<Tensor, ModelError> {
        Ok(self.output.weight.f_narrow(1, place * self.head_dim, self.head_dim)?)
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

        if probe.watches() {
            let each = |x: &Tensor| x.f_view([rows, heads, n, d]);
            let (query, key, value) = (each(&query)?, each(&key)?, each(&value)?);
            let left = self.left.as_ref();
            probe.project(layer, &Projections { query: &query, key: &key, value: &value, left })?;
        }
        let (mask, padded) = (scratch.mask_of(rows, heads)?, scratch.padded);
        let input = ScoreInput { query: &query, key: &key, mask: &mask, padded, rows, tokens: n, head_dim: d };
        let scores = self.rule.scores(&input)?;
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
