use tch::{Kind, Tensor};

use super::checkpoint::{LayerNorm, Linear, Weights};
use super::config::{Config, Stored};
use super::{Batch, ModelError};

/// What a token enters the first layer as: its word's, its position's and its segment's vectors, added and normalised.
#[derive(Debug)]
pub(super) struct Embeddings {
    /// `[vocabulary, embedding]`
    pub words: Tensor,
    positions: Option<(Tensor, PositionRule)>,
    types: Option<Tensor>,
    norm: LayerNorm,
    /// From the width of the embeddings to that of the layers.
    projection: Option<Linear>,
    norm_after_projection: bool,
}

/// How tokens are numbered for the table of positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PositionRule {
    /// There is no such table.
    None,
    /// 0, 1, 2 …
    Counted,
    /// From the number after this padding id on; a token of that id is not counted, and has the id as its position.
    AfterPadding(usize),
}

impl PositionRule {
    /// As the config's padding id says.
    pub fn after_padding(stored: &Stored) -> Result<Self, ModelError> {
        Ok(Self::AfterPadding(stored.number("pad_token_id", 1).map_err(ModelError::Unfit)?))
    }
}

/// Names of the tables.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tables {
    pub words: &'static str,
    pub norm: &'static str,
    pub projection: Option<&'static str>,
    /// There is a projection even where both widths are the same.
    pub always_project: bool,
    pub norm_after_projection: bool,
}

impl Tables {
    pub const BERT: Self = Self {
        words: "embeddings.word_embeddings",
        norm: "embeddings.LayerNorm",
        projection: None,
        always_project: false,
        norm_after_projection: false,
    };
}

impl Embeddings {
    pub fn load(
        weights: &Weights<'_>,
        config: &Config,
        tables: &Tables,
        rule: PositionRule,
    ) -> Result<Self, ModelError> {
        let width = config.embedding;
        let table = |name: &str, rows| weights.get(&format!("{name}.weight"), &[rows, width]);
        let positions = match rule {
            PositionRule::None => None,
            _ => Some((table("embeddings.position_embeddings", config.position_rows)?, rule)),
        };
        let types = (config.types > 0).then(|| table("embeddings.token_type_embeddings", config.types)).transpose()?;
        let needed = tables.always_project || width != config.hidden;
        let projection = match tables.projection.filter(|_| needed) {
            // DeBERTa's has no bias.
            Some(name) => Some(weights.linear_biased(name, config.hidden, width, !tables.norm_after_projection)?),
            None if width != config.hidden => {
                return Err(ModelError::Unfit(format!(
                    "embeddings of width {width} do not fit layers of width {}",
                    config.hidden
                )));
            }
            None => None,
        };
        let norm_width = if tables.norm_after_projection { config.hidden } else { width };
        Ok(Self {
            words: table(tables.words, config.vocabulary)?,
            positions,
            types,
            norm: weights.norm_biased(tables.norm, norm_width, config.layer_norm_eps, config.norm_bias)?,
            projection,
            norm_after_projection: tables.norm_after_projection,
        })
    }

    /// Tokens may be of several segments.
    pub fn has_types(&self) -> bool {
        self.types.is_some()
    }

    pub fn forward(&self, batch: &Batch) -> Result<Tensor, ModelError> {
        let look_up = |table: &Tensor, ids: &Tensor| Tensor::f_embedding(table, ids, -1, false, false);
        let mut sum = look_up(&self.words, &batch.ids)?;
        if let Some(types) = &self.types {
            sum = sum.f_add_(&look_up(types, &batch.types)?)?;
        }
        match &self.positions {
            None => {}
            Some((table, PositionRule::AfterPadding(padding))) => {
                let padding = *padding as i64;
                let counts = batch.ids.f_ne(padding)?.f_to_kind(Kind::Int64)?;
                let numbers = counts.f_cumsum(1, Kind::Int64)?.f_mul(&counts)?.f_add_scalar(padding)?;
                sum = sum.f_add_(&look_up(table, &numbers)?)?;
            }
            Some((table, _)) => sum = sum.f_add_(&table.f_narrow(0, 0, batch.padded() as i64)?)?,
        }
        if self.norm_after_projection {
            return self.norm.forward(&self.project(sum)?);
        }
        let sum = self.norm.forward(&sum)?;
        self.project(sum)
    }

    fn project(&self, x: Tensor) -> Result<Tensor, ModelError> {
        self.projection.as_ref().map_or(Ok(x.shallow_clone()), |projection| projection.forward(&x))
    }

    pub fn parameters(&self) -> usize {
        self.words.numel()
            + self.positions.as_ref().map_or(0, |(table, _)| table.numel())
            + self.types.as_ref().map_or(0, Tensor::numel)
            + self.norm.parameters()
            + self.projection.as_ref().map_or(0, Linear::parameters)
    }
}
