use tch::Tensor;

use super::ModelError;
use crate::run::Token;

/// Inputs for one forward pass, the shorter ones padded at their end.
#[derive(Debug)]
pub struct Batch {
    /// `[batch, token]`, i64
    pub(super) ids: Tensor,
    /// `[batch, token]`, i64
    pub(super) types: Tensor,
    /// `[batch, 1, token]`: 0 for a real token, −∞ for padding; `None` where nothing is padded.
    pub(super) mask: Option<Tensor>,
    lengths: Vec<usize>,
    padded: usize,
    /// The largest id and type, to compare with the model's tables before libtorch reads beyond them.
    pub(super) largest_id: i64,
    pub(super) largest_type: i64,
}

impl Batch {
    /// Rows of tokens as the tokenizer made them.
    ///
    /// # Errors
    /// [`ModelError::Empty`] without rows or with a row without tokens.
    pub fn from_tokens(rows: &[&[Token]]) -> Result<Self, ModelError> {
        let rows: Vec<Vec<(i64, i64)>> = rows
            .iter()
            .map(|row| row.iter().map(|token| (i64::from(token.id), i64::from(token.type_id))).collect())
            .collect();
        Self::from_rows(&rows)
    }

    /// Rows of token ids, all of type 0.
    ///
    /// # Errors
    /// [`ModelError::Empty`] without rows or with a row without tokens.
    pub fn from_ids(rows: &[&[u32]]) -> Result<Self, ModelError> {
        let rows: Vec<Vec<(i64, i64)>> =
            rows.iter().map(|row| row.iter().map(|id| (i64::from(*id), 0)).collect()).collect();
        Self::from_rows(&rows)
    }

    fn from_rows(rows: &[Vec<(i64, i64)>]) -> Result<Self, ModelError> {
        let lengths: Vec<usize> = rows.iter().map(Vec::len).collect();
        let padded = lengths.iter().copied().max().unwrap_or(0);
        if lengths.contains(&0) || padded == 0 {
            return Err(ModelError::Empty);
        }
        let shape = [rows.len() as i64, padded as i64];
        let fill = |part: fn(&(i64, i64)) -> i64| -> Vec<i64> {
            // Padding may hold any id: its columns get no weight and its rows are dropped.
            rows.iter().flat_map(|row| row.iter().map(part).chain(std::iter::repeat(0)).take(padded)).collect()
        };
        let (ids, types) = (fill(|pair| pair.0), fill(|pair| pair.1));
        let mask = lengths.iter().any(|&length| length < padded).then(|| {
            let mask: Vec<f32> = lengths
                .iter()
                .flat_map(|&length| (0..padded).map(move |i| if i < length { 0.0 } else { f32::NEG_INFINITY }))
                .collect();
            Tensor::f_from_slice(&mask)?.f_view([shape[0], 1, shape[1]])
        });
        Ok(Self {
            largest_id: ids.iter().copied().max().unwrap_or(0),
            largest_type: types.iter().copied().max().unwrap_or(0),
            ids: Tensor::f_from_slice(&ids)?.f_view(shape)?,
            types: Tensor::f_from_slice(&types)?.f_view(shape)?,
            mask: mask.transpose()?,
            lengths,
            padded,
        })
    }

    /// How many rows.
    pub fn rows(&self) -> usize {
        self.lengths.len()
    }

    /// The length of each row without its padding.
    pub fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    /// The length of the longest row, to which the others are padded.
    pub fn padded(&self) -> usize {
        self.padded
    }
}
