//! DeBERTa v2 and v3 (He et al. 2021): scores of content with content, content with position, and position with content.

use tch::{Kind, Tensor};

use super::bert::{self, LayerNames};
use super::{Family, Parts, settings};
use crate::model::checkpoint::{Linear, Weights};
use crate::model::config::{Config, Keys, Stored};
use crate::model::embeddings::{Embeddings, PositionRule, Tables};
use crate::model::layer::{Convolution, ScoreInput, ScoreRule, masked};
use crate::model::tasks::{self, HeadInput, MaskedLmNames, Step, TaskHead};
use crate::model::{Activation, ModelError, PruneRule};
use crate::run::Task;

pub const FAMILY: Family = Family {
    types: &["deberta-v2"],
    anchor: "embeddings.word_embeddings.weight",
    config,
    load,
    prune: PruneRule {
        layers: "encoder.layer.",
        rows: &["attention.self.query_proj", "attention.self.key_proj", "attention.self.value_proj"],
        columns: "attention.output.dense",
        compact: false,
    },
    settings: settings::DEBERTA,
};

fn config(stored: &Stored) -> Result<Config, String> {
    let keys = Keys {
        vocabulary: ("vocab_size", 128_100),
        hidden: ("hidden_size", 1536),
        layers: ("num_hidden_layers", 24),
        heads: ("num_attention_heads", 24),
        intermediate: ("intermediate_size", 6144),
        types: Some(("type_vocab_size", 0)),
        embedding: Some(("embedding_size", 0)),
        eps: ("layer_norm_eps", 1e-7),
        ..Keys::BERT
    };
    Relative::read(stored)?;
    Config::read(stored, &keys)
}

/// The family's own settings.
#[derive(Debug, Clone, Copy)]
struct Relative {
    /// Relative positions enter the scores at all.
    on: bool,
    /// Relative positions are told apart up to this distance, or fall into this many buckets on either side.
    span: i64,
    buckets: i64,
    farthest: i64,
    content_to_position: bool,
    position_to_content: bool,
    /// Positions go through the projections of content.
    shares_keys: bool,
    /// The table of relative positions is normalised.
    normalized: bool,
    absolute_input: bool,
}

impl Relative {
    fn read(stored: &Stored) -> Result<Self, String> {
        let positions = stored.number("max_position_embeddings", 512)? as i64;
        let farthest = stored.signed("max_relative_positions", -1)?;
        let farthest = if farthest < 1 { positions } else { farthest };
        let buckets = stored.signed("position_buckets", -1)?;
        if !(1..=1_000_000).contains(&farthest) || buckets > 1_000_000 || buckets == 1 {
            return Err(format!("max_relative_positions {farthest} with position_buckets {buckets} cannot be"));
        }
        let kinds = stored.words("pos_att_type")?;
        let norm = stored.text("norm_rel_ebd", "none")?.to_lowercase();
        Ok(Self {
            on: stored.flag("relative_attention", false)?,
            span: if buckets > 0 { buckets } else { farthest },
            buckets,
            farthest,
            content_to_position: kinds.iter().any(|kind| kind == "c2p"),
            position_to_content: kinds.iter().any(|kind| kind == "p2c"),
            shares_keys: stored.flag("share_att_key", false)?,
            normalized: norm.split('|').any(|part| part.trim() == "layer_norm"),
            absolute_input: stored.flag("position_biased_input", true)?,
        })
    }
}

fn load(weights: &Weights<'_>, config: &Config, stored: &Stored) -> Result<Parts, ModelError> {
    let relative = Relative::read(stored).map_err(ModelError::Unfit)?;
    let rule = if relative.absolute_input { PositionRule::Counted } else { PositionRule::None };
    let tables = Tables { projection: Some("embeddings.embed_proj"), norm_after_projection: true, ..Tables::BERT };
    let embeddings = Embeddings::load(weights, config, &tables, rule)?;
    let table = relative.on.then(|| table(weights, config, relative)).transpose()?;
    let norm = if relative.normalized { 2 * config.hidden } else { 0 };
    let shared = table.as_ref().map_or(0, |table| table.numel() + norm);
    let rule =
        |layer| Ok(Box::new(disentangled(weights, config, layer, relative, table.as_ref())?) as Box<dyn ScoreRule>);
    let mut layers = bert::layers(weights, config, "encoder.layer", &NAMES, rule)?;
    let size = stored.number("conv_kernel_size", 0).map_err(ModelError::Unfit)?;
    if size > 0 {
        let groups = stored.number("conv_groups", 1).map_err(ModelError::Unfit)?.max(1);
        let activation = stored.text("conv_act", "tanh").map_err(ModelError::Unfit)?;
        layers[0].convolution = Some(Convolution {
            weight: weights.get("encoder.conv.conv.weight", &[config.hidden, config.hidden / groups, size])?,
            bias: weights.get("encoder.conv.conv.bias", &[config.hidden])?,
            groups: groups as i64,
            activation: Activation::from_name(&activation)
                .ok_or_else(|| ModelError::Unfit(format!("its conv_act {activation} is not known")))?,
            norm: weights.layer_norm("encoder.conv.LayerNorm", config.hidden, config.layer_norm_eps)?,
        });
    }
    let tasks = task_heads(weights, config, stored, &embeddings)?;
    Ok(Parts { tasks, shared, ..Parts::of(embeddings, layers) })
}

/// The table of relative positions, `[2 · span, hidden]`.
fn table(weights: &Weights<'_>, config: &Config, relative: Relative) -> Result<Tensor, ModelError> {
    let table = weights.get("encoder.rel_embeddings.weight", &[2 * relative.span as usize, config.hidden])?;
    if !relative.normalized {
        return Ok(table);
    }
    weights.layer_norm("encoder.LayerNorm", config.hidden, config.layer_norm_eps)?.forward(&table)
}

const NAMES: LayerNames = LayerNames {
    query: "attention.self.query_proj",
    key: "attention.self.key_proj",
    value: "attention.self.value_proj",
    ..LayerNames::BERT
};

/// The score rule of a layer, with the table of relative positions through the layer's projections.
fn disentangled(
    weights: &Weights<'_>,
    config: &Config,
    layer: usize,
    relative: Relative,
    table: Option<&Tensor>,
) -> Result<Disentangled, ModelError> {
    let name = |part: &str| format!("encoder.layer.{layer}.{part}");
    let mut rule = Disentangled { relative, position_keys: None, position_queries: None, parameters: 0 };
    if let Some(table) = table {
        let (shared, hidden) = (relative.shares_keys, config.hidden);
        let mut parameters = 0;
        let mut through = |own: &str, content: &str| -> Result<Tensor, ModelError> {
            let projection: Linear = weights.linear(if shared { content } else { own }, hidden, hidden)?;
            parameters += if shared { 0 } else { projection.parameters() };
            let (heads, d) = (config.heads as i64, config.head_dim() as i64);
            Ok(projection.forward(table)?.f_view([-1, heads, d])?.f_transpose(0, 1)?.f_contiguous()?)
        };
        if relative.content_to_position {
            rule.position_keys = Some(through(&name("attention.self.pos_key_proj"), &name(NAMES.key))?);
        }
        if relative.position_to_content {
            rule.position_queries = Some(through(&name("attention.self.pos_query_proj"), &name(NAMES.query))?);
        }
        rule.parameters = parameters;
    }
    Ok(rule)
}

/// Scores with relative positions. The table of positions has gone through the projections once, at load.
#[derive(Debug)]
struct Disentangled {
    relative: Relative,
    /// `[head, 2 · span, head_dim]`
    position_keys: Option<Tensor>,
    position_queries: Option<Tensor>,
    /// Of projections that are for positions alone.
    parameters: usize,
}

impl ScoreRule for Disentangled {
    fn scores(&self, input: &ScoreInput<'_>) -> Result<Tensor, ModelError> {
        let kinds = 1 + i32::from(self.relative.content_to_position) + i32::from(self.relative.position_to_content);
        let scale = 1.0 / (input.head_dim as f64 * f64::from(kinds)).sqrt();
        let mut scores = input.query.f_bmm(&input.key.f_transpose(1, 2)?)?.f_mul_scalar(scale)?;
        let (n, all) = (input.tokens, input.query.size3()?.0);
        if let Some(keys) = &self.position_keys {
            let by_position = input.query.f_bmm(&keys.f_repeat([input.rows, 1, 1])?.f_transpose(1, 2)?)?;
            let index = self.index(n, |query, key| query - key)?.f_expand([all, n, n], false)?;
            scores = scores.f_add(&by_position.f_gather(-1, &index, false)?.f_mul_scalar(scale)?)?;
        }
        if let Some(queries) = &self.position_queries {
            let by_position = input.key.f_bmm(&queries.f_repeat([input.rows, 1, 1])?.f_transpose(1, 2)?)?;
            // For each key, the position of each query as seen from there.
            let index = self.index(n, |key, query| -(key - query))?.f_expand([all, n, n], false)?;
            let scored = by_position.f_gather(-1, &index, false)?.f_transpose(1, 2)?;
            scores = scores.f_add(&scored.f_mul_scalar(scale)?)?;
        }
        masked(input, &scores)
    }

    fn parameters(&self) -> usize {
        self.parameters
    }
}

impl Disentangled {
    /// Rows of the table for pairs of tokens, `[1, n, n]`, the sign of a distance kept by its bucket.
    fn index(&self, n: i64, distance: impl Fn(i64, i64) -> i64) -> Result<Tensor, ModelError> {
        let span = self.relative.span;
        let row = |a: i64, b: i64| {
            let distance = distance(a, b);
            (self.bucket(distance) + span).clamp(0, 2 * span - 1)
        };
        let rows: Vec<i64> = (0..n).flat_map(|a| (0..n).map(move |b| (a, b))).map(|(a, b)| row(a, b)).collect();
        Ok(Tensor::f_from_slice(&rows)?.f_view([1, n, n])?.f_to_kind(Kind::Int64)?)
    }

    /// Near distances as they are, farther ones by their logarithm.
    fn bucket(&self, distance: i64) -> i64 {
        let Relative { buckets, farthest, .. } = self.relative;
        let middle = buckets / 2;
        if buckets <= 0 || distance.abs() <= middle {
            return distance;
        }
        // In f32, as `transformers` does it: at the borders of buckets the last digit decides.
        let share = (distance.abs() as f32 / middle as f32).ln() / ((farthest - 1) as f32 / middle as f32).ln();
        ((share * (middle - 1) as f32).ceil() as i64 + middle) * distance.signum()
    }
}

fn task_heads(
    weights: &Weights<'_>,
    config: &Config,
    stored: &Stored,
    embeddings: &Embeddings,
) -> Result<Vec<TaskHead>, ModelError> {
    let outside = weights.outside();
    let legacy = MaskedLmNames {
        dense: "cls.predictions.transform.dense",
        norm: "cls.predictions.transform.LayerNorm",
        decoder: "cls.predictions.decoder",
        bias: "cls.predictions.bias",
        activation: config.activation,
    };
    let newer = MaskedLmNames {
        dense: "lm_predictions.lm_head.dense",
        norm: "lm_predictions.lm_head.LayerNorm",
        decoder: "lm_predictions.lm_head.decoder",
        bias: "lm_predictions.lm_head.bias",
        activation: config.activation,
    };
    let mut heads = Vec::new();
    heads.extend(tasks::masked_lm(&outside, config, embeddings, &legacy)?);
    if outside.has("lm_predictions.lm_head.dense.weight") {
        // This one has no decoder of its own.
        let tied = Config { tied: true, ..config.clone() };
        heads.extend(tasks::masked_lm(&outside, &tied, embeddings, &newer)?);
    }
    heads.extend(tasks::question_answering(&outside, config)?);
    if config.is_for("TokenClassification", !outside.has("pooler.dense.weight")) {
        heads.extend(tasks::token_classification(&outside, config, Vec::new())?);
    } else if !outside.has("classifier.weight") || !outside.has("pooler.dense.weight") {
        let names = [tasks::both("classifier"), tasks::both("pooler.dense")].concat();
        outside.lacks(Some(Task::SequenceClassification), &names);
    } else {
        let name = stored.text("pooler_hidden_act", "gelu").map_err(ModelError::Unfit)?;
        let activation = Activation::from_name(&name)
            .ok_or_else(|| ModelError::Unfit(format!("its pooler_hidden_act {name} is not known")))?;
        let dense = outside.linear("pooler.dense", config.hidden, config.hidden)?;
        let steps = vec![Step::Linear(dense), Step::Activation(activation)];
        heads.extend(tasks::sequence_classification(&outside, config, HeadInput::First, steps, "classifier")?);
    }
    Ok(heads)
}
