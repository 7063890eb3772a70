//! ModernBERT (Warner et al. 2024): rotary positions, layers that look everywhere in turn with layers that look near,
//! layer norms before the blocks, gated feed-forward, one projection for query, key and value.

use tch::Tensor;

use super::{Family, Parts, settings};
use crate::model::checkpoint::{Linear, Weights};
use crate::model::config::{Config, Keys, Stored};
use crate::model::embeddings::{Embeddings, PositionRule, Tables};
use crate::model::layer::{FeedForward, Layer, Norms, ScoreInput, ScoreRule, SelfAttention, plain_scores};
use crate::model::tasks::{self, HeadInput, MaskedLmNames, Step, TaskHead};
use crate::model::{Activation, ModelError, PruneRule};

pub const FAMILY: Family = Family {
    types: &["modernbert"],
    anchor: "embeddings.tok_embeddings.weight",
    config,
    load,
    prune: PruneRule { layers: "layers.", rows: &[], columns: "attn.Wo", compact: false },
    settings: settings::MODERNBERT,
};

fn config(stored: &Stored) -> Result<Config, String> {
    let keys = Keys {
        vocabulary: ("vocab_size", 50368),
        intermediate: ("intermediate_size", 1152),
        layers: ("num_hidden_layers", 22),
        activation: ("hidden_activation", "gelu"),
        positions: ("max_position_embeddings", 8192),
        types: None,
        eps: ("norm_eps", 1e-5),
        ..Keys::BERT
    };
    let mut config = Config::read(stored, &keys)?;
    config.norm_bias = stored.flag("norm_bias", false)?;
    config.head_bias = stored.flag("classifier_bias", false)?;
    config.decoder_bias = stored.flag("decoder_bias", true)?;
    config.window = window(stored)?;
    if config.head_dim() % 2 != 0 {
        return Err(format!("heads of width {} cannot be rotated: the width must be even", config.head_dim()));
    }
    let kinds = stored.words("layer_types")?.len();
    if kinds > config.layers {
        return Err(format!("its layer_types names {kinds} layers, but it has {}", config.layers));
    }
    for layer in 0..config.layers {
        Rotary::read(stored, layer, config.head_dim())?;
    }
    Ok(config)
}

/// How many tokens a local layer looks at, half of them on either side.
fn window(stored: &Stored) -> Result<usize, String> {
    Ok(stored.number("local_attention", 128)?.min(1 << 30))
}

fn load(weights: &Weights<'_>, config: &Config, stored: &Stored) -> Result<Parts, ModelError> {
    let tables = Tables { words: "embeddings.tok_embeddings", norm: "embeddings.norm", ..Tables::BERT };
    let embeddings = Embeddings::load(weights, config, &tables, PositionRule::None)?;
    let layers = (0..config.layers)
        .map(|layer| {
            let rule = Rotary::read(stored, layer, config.head_dim()).map_err(ModelError::Unfit)?;
            one_layer(weights, config, stored, layer, rule)
        })
        .collect::<Result<_, _>>()?;
    let final_norm = Some(weights.norm_biased("final_norm", config.hidden, config.layer_norm_eps, config.norm_bias)?);
    let tasks = task_heads(weights, config, stored, &embeddings)?;
    Ok(Parts { final_norm, tasks, ..Parts::of(embeddings, layers) })
}

fn one_layer(
    weights: &Weights<'_>,
    config: &Config,
    stored: &Stored,
    layer: usize,
    rule: Rotary,
) -> Result<Layer, ModelError> {
    let biased = |key: &str| stored.flag(key, false).map_err(ModelError::Unfit);
    let (attention_bias, mlp_bias) = (biased("attention_bias")?, biased("mlp_bias")?);
    let norm = |part: &str| weights.norm_biased(part, config.hidden, config.layer_norm_eps, config.norm_bias);
    let name = |part: &str| format!("layers.{layer}.{part}");
    let (hidden, inner) = (config.hidden, config.intermediate);
    let qkv = weights.linear_biased(&name("attn.Wqkv"), 3 * hidden, hidden, attention_bias)?;
    let output = weights.linear_biased(&name("attn.Wo"), hidden, hidden, attention_bias)?;
    // The first layer's norm would follow the one of the embeddings, and is left out.
    let attention = (layer > 0).then(|| norm(&name("attn_norm"))).transpose()?;
    Ok(Layer {
        attention: SelfAttention::new(config, qkv, output, Box::new(rule)),
        norms: Norms::Before { attention, output: norm(&name("mlp_norm"))? },
        feed_forward: FeedForward::Gated {
            widen: weights.linear_biased(&name("mlp.Wi"), 2 * inner, hidden, mlp_bias)?,
            activation: config.activation,
            narrow: weights.linear_biased(&name("mlp.Wo"), hidden, inner, mlp_bias)?,
        },
        convolution: None,
    })
}

/// Turns queries and keys by their positions (Su et al. 2021); a local layer looks no farther than half its window.
#[derive(Debug)]
struct Rotary {
    theta: f64,
    /// The farthest that a token may look to either side; `None` for everywhere.
    reach: Option<i64>,
    head_dim: i64,
}

impl Rotary {
    fn read(stored: &Stored, layer: usize, head_dim: usize) -> Result<Self, String> {
        let every = stored.number("global_attn_every_n_layers", 3)?.max(1);
        let kinds = stored.words("layer_types")?;
        let local = match kinds.get(layer).map(String::as_str) {
            Some("sliding_attention") => true,
            Some("full_attention") => false,
            Some(other) => return Err(format!("its layer_types has {other}, which is not known")),
            None if kinds.is_empty() => !layer.is_multiple_of(every),
            None => return Err(format!("its layer_types names {} layers, but layer {layer} is there", kinds.len())),
        };
        let (kind, old, usual) = match local {
            true => ("sliding_attention", "local_rope_theta", 10_000.0),
            false => ("full_attention", "global_rope_theta", 160_000.0),
        };
        let parameters = stored.inner("rope_parameters").and_then(|parameters| parameters.inner(kind));
        let theta = match &parameters {
            Some(parameters) => {
                if parameters.float("partial_rotary_factor", 1.0)? != 1.0 {
                    return Err("its partial_rotary_factor is not 1, and heads are turned whole".into());
                }
                let rope = parameters.text("rope_type", "default")?;
                if rope != "default" {
                    return Err(format!("its rope_type is {rope}, and only default is known"));
                }
                parameters.float("rope_theta", stored.float(old, usual)?)?
            }
            None => stored.float(old, usual)?,
        };
        if !(theta.is_finite() && theta > 0.0) {
            return Err(format!("its rope_theta {theta} is no positive number"));
        }
        let window = window(stored)? as i64;
        Ok(Self { theta, reach: local.then_some(window / 2), head_dim: head_dim as i64 })
    }

    /// Cosine and sine of each position's angles, `[1, token, head_dim]`.
    fn angles(&self, tokens: i64) -> Result<(Tensor, Tensor), ModelError> {
        let d = self.head_dim;
        // Step by step as `transformers` does it: far from the start, a digit of a frequency is many of an angle.
        let exponents: Vec<f32> = (0..d / 2).map(|at| (2 * at) as f32).collect();
        let exponents = Tensor::f_from_slice(&exponents)?.f_div_scalar(d)?;
        let each = Tensor::f_pow_scalar(self.theta, &exponents)?.f_reciprocal()?;
        let positions: Vec<f32> = (0..tokens).map(|token| token as f32).collect();
        let angles = Tensor::f_from_slice(&positions)?.f_unsqueeze(1)?.f_mul(&each)?;
        let angles = Tensor::f_cat(&[&angles, &angles], 1)?.f_unsqueeze(0)?;
        Ok((angles.f_cos()?, angles.f_sin()?))
    }
}

impl ScoreRule for Rotary {
    fn scores(&self, input: &ScoreInput<'_>) -> Result<Tensor, ModelError> {
        let n = input.tokens;
        let (cos, sin) = self.angles(n)?;
        let half = self.head_dim / 2;
        let turned = |x: &Tensor| -> Result<Tensor, ModelError> {
            let swapped = Tensor::f_cat(&[x.f_narrow(-1, half, half)?.f_neg()?, x.f_narrow(-1, 0, half)?], -1)?;
            Ok(x.f_mul(&cos)?.f_add(&swapped.f_mul(&sin)?)?)
        };
        let (query, key) = (turned(input.query)?, turned(input.key)?);
        let scores = plain_scores(&ScoreInput { query: &query, key: &key, ..*input })?;
        let Some(reach) = self.reach.filter(|reach| *reach < n) else { return Ok(scores) };
        let far = |query: i64, key: i64| if (query - key).abs() > reach { f32::NEG_INFINITY } else { 0.0 };
        let window: Vec<f32> = (0..n).flat_map(|query| (0..n).map(move |key| far(query, key))).collect();
        let mut window = Tensor::f_from_slice(&window)?.f_view([1, n, n])?;
        if input.padded {
            // Far from every real token, a padding row would have no score at all, and its softmax be no number.
            let padding = input.mask.f_eq(f64::NEG_INFINITY)?.f_transpose(1, 2)?;
            window = window.f_masked_fill(&padding, 0.0)?;
        }
        Ok(scores.f_add(&window)?)
    }
}

fn task_heads(
    weights: &Weights<'_>,
    config: &Config,
    stored: &Stored,
    embeddings: &Embeddings,
) -> Result<Vec<TaskHead>, ModelError> {
    let outside = weights.outside();
    let name = stored.text("classifier_activation", "gelu").map_err(ModelError::Unfit)?;
    let activation = Activation::from_name(&name)
        .ok_or_else(|| ModelError::Unfit(format!("its classifier_activation {name} is not known")))?;
    let mut heads = Vec::new();
    if !outside.has("head.dense.weight") {
        // The decoder's weight is the table of words.
        let own: &[&str] = if config.is_for("MaskedLM", false) {
            &["decoder.bias"]
        } else {
            &["classifier.weight", "classifier.bias"]
        };
        let names: Vec<String> =
            ["head.dense.weight", "head.norm.weight"].iter().chain(own).map(|name| (*name).to_owned()).collect();
        outside.lacks(config.task(), &names);
        return Ok(heads);
    }
    let steps = || -> Result<Vec<Step>, ModelError> {
        let dense: Linear = outside.linear_biased("head.dense", config.hidden, config.hidden, config.head_bias)?;
        let norm = outside.norm_biased("head.norm", config.hidden, config.layer_norm_eps, config.norm_bias)?;
        Ok(vec![Step::Linear(dense), Step::Activation(activation), Step::Norm(norm)])
    };
    if outside.has("decoder.bias") || config.is_for("MaskedLM", false) {
        let names = MaskedLmNames {
            dense: "head.dense",
            norm: "head.norm",
            decoder: "decoder",
            bias: "decoder.bias",
            activation,
        };
        heads.extend(tasks::masked_lm(&outside, config, embeddings, &names)?);
    }
    if config.is_for("QuestionAnswering", false) {
        heads.extend(tasks::spans(&outside, config, steps()?, "classifier")?);
    } else if config.is_for("TokenClassification", false) {
        heads.extend(tasks::token_classification(&outside, config, steps()?)?);
    } else {
        let input = match stored.text("classifier_pooling", "cls").map_err(ModelError::Unfit)?.as_str() {
            "cls" => HeadInput::First,
            "mean" => HeadInput::Mean,
            other => {
                let cause = format!("its classifier_pooling is {other}, and only cls and mean are known");
                return Err(ModelError::Unfit(cause));
            }
        };
        heads.extend(tasks::sequence_classification(&outside, config, input, steps()?, "classifier")?);
    }
    Ok(heads)
}
