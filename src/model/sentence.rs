//! What a sentence model does after its encoder: pooling, dense layers, norms, in the order that its files give.

use tch::{Kind, TchError, Tensor};

use super::ModelError;
use super::checkpoint::{LayerNorm, Linear};
use super::pooling::PoolingMode;

/// The modules behind the encoder.
#[derive(Debug)]
pub(super) struct SentenceHead {
    pub steps: Vec<Step>,
}

/// What a module reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Feature {
    /// `[batch, token, width]`
    Tokens,
    /// `[batch, width]`
    Sentence,
}

/// A module.
#[derive(Debug)]
pub(super) enum Step {
    Pool { modes: Vec<PoolingMode>, include_prompt: bool },
    Dense { dense: Dense, from: Feature, to: Feature },
    Normalize { from: Feature, to: Feature },
    LayerNorm(LayerNorm),
}

#[derive(Debug)]
pub(super) struct Dense {
    pub linear: Linear,
    pub activation: Activation,
    pub residual: Residual,
}

/// What a dense layer adds to what it makes.
#[derive(Debug)]
pub(super) enum Residual {
    None,
    Input,
    Projected(Linear),
}

/// A function of PyTorch's, as it is without settings of its own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Activation {
    pub name: &'static str,
    apply: fn(&Tensor) -> Result<Tensor, TchError>,
}

impl Activation {
    const ALL: [Self; 15] = [
        Self { name: "Identity", apply: |x| Ok(x.shallow_clone()) },
        Self { name: "Tanh", apply: Tensor::f_tanh },
        Self { name: "ReLU", apply: Tensor::f_relu },
        Self { name: "GELU", apply: |x| x.f_gelu("none") },
        Self { name: "Sigmoid", apply: Tensor::f_sigmoid },
        Self { name: "SiLU", apply: Tensor::f_silu },
        Self { name: "LeakyReLU", apply: Tensor::f_leaky_relu },
        Self { name: "ELU", apply: Tensor::f_elu },
        Self { name: "SELU", apply: Tensor::f_selu },
        Self { name: "Softplus", apply: Tensor::f_softplus },
        Self { name: "Mish", apply: Tensor::f_mish },
        Self { name: "ReLU6", apply: Tensor::f_relu6 },
        Self { name: "Hardtanh", apply: Tensor::f_hardtanh },
        Self { name: "Hardswish", apply: Tensor::f_hardswish },
        Self { name: "LogSigmoid", apply: Tensor::f_log_sigmoid },
    ];

    /// By its class, such as `torch.nn.modules.activation.Tanh`.
    pub fn from_class(class: &str) -> Option<Self> {
        let name = class.strip_prefix("torch.nn.")?.rsplit('.').next()?;
        Self::ALL.into_iter().find(|known| known.name == name)
    }
}

impl Dense {
    fn forward(&self, x: &Tensor) -> Result<Tensor, ModelError> {
        let made = (self.activation.apply)(&self.linear.forward(x)?)?;
        Ok(match &self.residual {
            Residual::None => made,
            Residual::Input => made.f_add(x)?,
            Residual::Projected(residual) => made.f_add(&residual.forward(x)?)?,
        })
    }
}

impl SentenceHead {
    /// The mean over tokens, for a model that declares nothing.
    pub fn mean() -> Self {
        Self { steps: vec![Step::Pool { modes: vec![PoolingMode::Mean], include_prompt: true }] }
    }

    /// Whether a prompt's tokens are left out.
    pub fn leaves_prompts_out(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Pool { include_prompt: false, .. }))
    }

    /// The vectors `[batch, width]` from the last hidden state `[batch, token, hidden]` of a batch without padding, whose
    /// first so many tokens are a prompt's. It follows the thread's grad mode.
    pub fn forward(&self, last: &Tensor, prompt: usize) -> Result<Tensor, ModelError> {
        let (mut tokens, mut sentence) = (last.shallow_clone(), None::<Tensor>);
        for step in &self.steps {
            let of = |feature| match feature {
                Feature::Tokens => Some(tokens.shallow_clone()),
                Feature::Sentence => sentence.as_ref().map(Tensor::shallow_clone),
            };
            let (made, to) = match step {
                Step::Pool { modes, include_prompt } => {
                    let prompt = if *include_prompt { 0 } else { prompt };
                    let pooled: Vec<Tensor> =
                        modes.iter().map(|mode| mode.pool(&tokens, prompt)).collect::<Result<_, _>>()?;
                    (Tensor::f_cat(&pooled, -1)?, Feature::Sentence)
                }
                Step::Dense { dense, from, to } => (dense.forward(&of(*from).ok_or(ModelError::Empty)?)?, *to),
                Step::Normalize { from, to } => (normalized(&of(*from).ok_or(ModelError::Empty)?)?, *to),
                Step::LayerNorm(norm) => {
                    (norm.forward(&of(Feature::Sentence).ok_or(ModelError::Empty)?)?, Feature::Sentence)
                }
            };
            match to {
                Feature::Tokens => tokens = made,
                Feature::Sentence => sentence = Some(made),
            }
        }
        sentence.ok_or(ModelError::Empty)
    }
}

/// PyTorch's `normalize`, with its guard.
fn normalized(x: &Tensor) -> Result<Tensor, ModelError> {
    let length = x.f_square()?.f_sum_dim_intlist([-1].as_slice(), true, Kind::Float)?.f_sqrt()?;
    Ok(x.f_div(&length.f_clamp_min(1e-12)?)?)
}
