use ndarray::{Array3, ArrayView2, Axis};

use super::Run;

impl Run {
    /// Says where numbers first stop to be finite, in the order in which the pass made them: layer, head and site.
    pub fn not_finite_notice(&self) -> Option<String> {
        let place = self.first_not_finite()?;
        Some(format!("numbers that are infinite or none (NaN) first appear in {place}"))
    }

    fn first_not_finite(&self) -> Option<String> {
        let hidden = |at: usize| self.hidden.get(at).is_some_and(|state| lacks(state.iter()));
        if hidden(0) {
            return Some("the embeddings, before layer 0".to_owned());
        }
        for layer in 0..self.attention.layers() {
            let weights = self.attention.layer(layer).and_then(|heads| first_head(heads));
            if let Some(head) = weights {
                return Some(format!("layer {layer}, head {head}: its attention weights"));
            }
            let context = self.context.get(layer).and_then(|heads| first_head(heads));
            if let Some(head) = context {
                return Some(format!("layer {layer}, head {head}: its values"));
            }
            if hidden(layer + 1) {
                return Some(format!("layer {layer}, behind its heads: the hidden state that leaves it"));
            }
        }
        if self.pooler_output.as_ref().is_some_and(|pooled| lacks(pooled.iter())) {
            return Some("the pooler, behind the last layer".to_owned());
        }
        if lacks(self.embedding.values.iter()) {
            return Some("the sentence's vector".to_owned());
        }
        let output = self.outputs.iter().find(|output| lacks(output.logits.iter()))?;
        Some(format!("the answer of the task head ({})", output.task.name()))
    }
}

fn first_head(heads: &Array3<f32>) -> Option<usize> {
    heads.axis_iter(Axis(0)).position(|head: ArrayView2<'_, f32>| lacks(head.iter()))
}

fn lacks<'a>(mut numbers: impl Iterator<Item = &'a f32>) -> bool {
    numbers.any(|number| !number.is_finite())
}
