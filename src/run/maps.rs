use ndarray::{Array4, ArrayView2, s};

use super::{HeadId, RunError};

/// Attention weights of every head: `[layer, head, query, key]`, each row a probability distribution over keys.
#[derive(Debug, Clone, PartialEq)]
pub struct AttentionMaps {
    weights: Array4<f32>,
}

/// The weights of one head: `[query, key]`. Rows attend, columns are attended to.
pub type AttentionMap<'a> = ArrayView2<'a, f32>;

impl AttentionMaps {
    /// Takes weights in row-major order `[layer, head, query, key]`.
    ///
    /// # Errors
    /// [`RunError::BadMapSize`] if there are too many or too few of them.
    pub fn from_vec(layers: usize, heads: usize, tokens: usize, weights: Vec<f32>) -> Result<Self, RunError> {
        let found = weights.len();
        let weights = Array4::from_shape_vec((layers, heads, tokens, tokens), weights)
            .map_err(|_| RunError::BadMapSize { layers, heads, tokens, found })?;
        Ok(Self { weights })
    }

    pub fn layers(&self) -> usize {
        self.weights.dim().0
    }

    pub fn heads(&self) -> usize {
        self.weights.dim().1
    }

    pub fn tokens(&self) -> usize {
        self.weights.dim().2
    }

    /// One head's map.
    ///
    /// # Errors
    /// [`RunError::NoSuchHead`] if the model has no such head.
    pub fn head(&self, id: HeadId) -> Result<AttentionMap<'_>, RunError> {
        let id = id.within(self.layers(), self.heads())?;
        Ok(self.weights.slice(s![id.layer, id.head, .., ..]))
    }

    /// The largest weight of all heads.
    pub fn max(&self) -> f32 {
        self.weights.iter().copied().fold(0.0, f32::max)
    }

    /// All weights, `[layer, head, query, key]`.
    pub fn weights(&self) -> &Array4<f32> {
        &self.weights
    }

    /// Memory that the weights take, in bytes.
    pub fn bytes(&self) -> usize {
        self.weights.len() * size_of::<f32>()
    }
}
