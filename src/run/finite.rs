//! Numbers that are infinite or none: where they first are, and what is said of the others.

use ndarray::{ArrayBase, ArrayView, Axis, Data, Dimension, Ix3};

use super::Run;

/// A number in a cell of a table; the cell of one that is infinite or none is empty, as spreadsheets have it.
pub fn cell(number: f32) -> String {
    if number.is_finite() { number.to_string() } else { String::new() }
}

/// The greatest of some numbers that are finite, and 0 where none is above that.
pub fn greatest_finite(numbers: impl IntoIterator<Item = f32>) -> f32 {
    numbers.into_iter().filter(|number| number.is_finite()).fold(0.0, f32::max)
}

impl Run {
    /// Says where numbers first stop to be finite, in the order in which the pass made them: layer, head and site.
    pub fn not_finite_notice(&self) -> Option<String> {
        let place = self.first_not_finite()?;
        Some(format!("numbers that are infinite or none (NaN) first appear in {place}"))
    }

    fn first_not_finite(&self) -> Option<String> {
        let hidden = |at: usize| self.hidden.get(at).is_some_and(|state| lacks(state));
        if hidden(0) {
            return Some("the embeddings, before layer 0".to_owned());
        }
        for layer in 0..self.attention.layers() {
            let weights = self.attention.layer(layer).and_then(|heads| first_head(heads.view()));
            if let Some(head) = weights {
                return Some(format!("layer {layer}, head {head}: its attention weights"));
            }
            let context = self.context.get(layer).and_then(|heads| first_head(heads.view()));
            if let Some(head) = context {
                return Some(format!("layer {layer}, head {head}: its values"));
            }
            if hidden(layer + 1) {
                return Some(format!("layer {layer}, behind its heads: the hidden state that leaves it"));
            }
        }
        if self.pooler_output.as_ref().is_some_and(lacks) {
            return Some("the pooler, behind the last layer".to_owned());
        }
        if self.embedding.as_ref().is_some_and(|embedding| lacks(&embedding.values)) {
            return Some("the sentence's vector".to_owned());
        }
        let output = self.outputs.iter().find(|output| lacks(&output.logits))?;
        Some(format!("the answer of the task head ({})", output.task.name()))
    }
}

fn first_head(heads: ArrayView<'_, f32, Ix3>) -> Option<usize> {
    // All of them at once first: most runs have none, and a long text has many weights.
    lacks(&heads).then(|| heads.axis_iter(Axis(0)).position(|head| lacks(&head))).flatten()
}

fn lacks<S: Data<Elem = f32>, D: Dimension>(numbers: &ArrayBase<S, D>) -> bool {
    // Every run is looked through: in blocks without a way out the processor takes many numbers at a time.
    let block = |block: &[f32]| !block.iter().fold(true, |all, number| all & number.is_finite());
    match numbers.as_slice() {
        Some(numbers) => numbers.chunks(1024).any(block),
        None => numbers.iter().any(|number| !number.is_finite()),
    }
}
