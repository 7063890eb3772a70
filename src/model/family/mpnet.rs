//! MPNet (Song et al. 2020): RoBERTa's embeddings without segments, and a bias by relative position that all layers add
//! to their scores.

use tch::{Kind, Tensor};

use super::bert::{self, LayerNames};
use super::{Family, Parts, roberta, settings};
use crate::model::checkpoint::Weights;
use crate::model::config::{Config, Keys, Stored};
use crate::model::embeddings::{Embeddings, PositionRule, Tables};
use crate::model::layer::{ScoreInput, ScoreRule, plain_scores};
use crate::model::tasks::Pooler;
use crate::model::{ModelError, PruneRule};

pub const FAMILY: Family = Family {
    types: &["mpnet"],
    anchor: "embeddings.word_embeddings.weight",
    config,
    load,
    prune: PruneRule {
        layers: "encoder.layer.",
        rows: &["attention.attn.q", "attention.attn.k", "attention.attn.v"],
        columns: "attention.attn.o",
        compact: false,
    },
    settings: settings::MPNET,
};

/// The padding id is no setting in this family.
const PADDING: usize = 1;

fn config(stored: &Stored) -> Result<Config, String> {
    let keys = Keys { vocabulary: ("vocab_size", 30527), types: None, ..Keys::BERT };
    Config::read(stored, &keys)?.with_positions_after(PADDING)
}

fn load(weights: &Weights<'_>, config: &Config, stored: &Stored) -> Result<Parts, ModelError> {
    let embeddings = Embeddings::load(weights, config, &Tables::BERT, PositionRule::AfterPadding(PADDING))?;
    let buckets = stored.number("relative_attention_num_buckets", 32).map_err(ModelError::Unfit)?;
    if buckets < 32 {
        let cause = format!("its relative_attention_num_buckets is {buckets}, and positions are sorted into 32");
        return Err(ModelError::Unfit(cause));
    }
    let table = weights.get("encoder.relative_attention_bias.weight", &[buckets, config.heads])?;
    let rule = |_| Ok(Box::new(RelativeBias { table: table.shallow_clone() }) as Box<dyn ScoreRule>);
    let layers = bert::layers(weights, config, "encoder.layer", &NAMES, rule)?;
    let pooler = Pooler::load(weights, "pooler.dense", config)?;
    let tasks = roberta::task_heads(weights, config, &embeddings)?;
    Ok(Parts { pooler, tasks, shared: table.numel(), ..Parts::of(embeddings, layers) })
}

const NAMES: LayerNames = LayerNames {
    query: "attention.attn.q",
    key: "attention.attn.k",
    value: "attention.attn.v",
    output: "attention.attn.o",
    norms: ["attention.LayerNorm", "output.LayerNorm"],
    ..LayerNames::BERT
};

/// A number for each head and bucket of relative positions, the same in all layers.
#[derive(Debug)]
struct RelativeBias {
    /// `[bucket, head]`
    table: Tensor,
}

impl ScoreRule for RelativeBias {
    fn scores(&self, input: &ScoreInput<'_>) -> Result<Tensor, ModelError> {
        let n = input.tokens;
        // `transformers` always sorts into 32 buckets, whatever the config says.
        let buckets: Vec<i64> = (0..n).flat_map(|query| (0..n).map(move |key| bucket(key - query, 32))).collect();
        let rows = Tensor::f_embedding(&self.table, &Tensor::f_from_slice(&buckets)?, -1, false, false)?;
        let heads = rows.size2()?.1;
        let bias = rows.f_view([n, n, heads])?.f_permute([2, 0, 1])?.f_repeat([input.rows, 1, 1])?;
        Ok(plain_scores(input)?.f_add(&bias.f_to_kind(Kind::Float)?)?)
    }
}

/// The bucket of a relative position key − query: each small distance has its own, larger ones share, by their logarithm
/// (Raffel et al. 2020).
fn bucket(relative: i64, buckets: i64) -> i64 {
    let half = buckets / 2;
    let exact = half / 2;
    let (start, distance) = if relative > 0 { (half, relative) } else { (0, -relative) };
    if distance < exact {
        return start + distance;
    }
    // In f32, as `transformers` does it: at the borders of buckets the last digit decides.
    let share = (distance as f32 / exact as f32).ln() / (128.0 / exact as f64).ln() as f32;
    start + (exact + (share * (half - exact) as f32) as i64).min(half - 1)
}
