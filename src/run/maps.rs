use std::sync::Arc;

use ndarray::{Array3, ArrayView2, Axis};

use super::{HeadId, RunError, greatest_finite};

/// Attention weights of every head: `[layer, head, query, key]`, each row a probability distribution over keys.
///
/// A layer is shared, not copied, by runs in which it is the same.
#[derive(Debug, Clone, PartialEq)]
pub struct AttentionMaps {
    /// One a layer: `[head, query, key]`, in standard order.
    layers: Vec<Arc<Array3<f32>>>,
    heads: usize,
    tokens: usize,
}

/// The weights of one head: `[query, key]`. Rows attend, columns are attended to.
pub type AttentionMap<'a> = ArrayView2<'a, f32>;

impl AttentionMaps {
    /// Takes one array `[head, query, key]` a layer.
    ///
    /// # Errors
    /// [`RunError::BadMapShape`] if there is none, or they are not square and of one shape.
    pub fn from_layers(layers: Vec<Arc<Array3<f32>>>) -> Result<Self, RunError> {
        let first = layers.first().map_or((0, 0, 0), |layer| layer.dim());
        let (heads, tokens, _) = first;
        let wrong = |layer: &&Arc<Array3<f32>>| layer.dim() != (heads, tokens, tokens) || !layer.is_standard_layout();
        if layers.is_empty() || layers.iter().any(|layer| wrong(&layer)) {
            let found = layers.iter().find(wrong).map_or(first, |layer| layer.dim());
            return Err(RunError::BadMapShape { found, heads, tokens });
        }
        Ok(Self { layers, heads, tokens })
    }

    pub fn layers(&self) -> usize {
        self.layers.len()
    }

    pub fn heads(&self) -> usize {
        self.heads
    }

    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// One head's map.
    ///
    /// # Errors
    /// [`RunError::NoSuchHead`] if the model has no such head.
    pub fn head(&self, id: HeadId) -> Result<AttentionMap<'_>, RunError> {
        let id = id.within(self.layers(), self.heads())?;
        Ok(self.layers[id.layer].index_axis(Axis(0), id.head))
    }

    /// All heads of one layer, `[head, query, key]`.
    pub fn layer(&self, layer: usize) -> Option<&Arc<Array3<f32>>> {
        self.layers.get(layer)
    }

    /// All weights in the order `[layer, head, query, key]`.
    pub fn iter(&self) -> impl Iterator<Item = f32> {
        self.layers.iter().flat_map(|layer| layer.iter().copied())
    }

    /// The largest finite weight of all heads.
    pub fn max(&self) -> f32 {
        greatest_finite(self.iter())
    }
}
