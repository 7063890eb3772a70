use ndarray::{Array2, ArrayView1};

use crate::run::Run;

/// The cosine of two vectors, −1 to 1; 0 if one of them has no length, NaN if one has numbers that are not
/// finite.
pub fn cosine(a: ArrayView1<'_, f32>, b: ArrayView1<'_, f32>) -> f32 {
    let length = |x: ArrayView1<'_, f32>| x.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    let product: f64 = a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
    let lengths = length(a) * length(b);
    if !lengths.is_finite() || !product.is_finite() {
        return f32::NAN;
    }
    if lengths > 0.0 { (product / lengths).clamp(-1.0, 1.0) as f32 } else { 0.0 }
}

/// How far the hidden states of an edited run are from the plain ones, `[layers + 1, token]`: row 0 is what enters
/// layer 0, row l + 1 what leaves layer l.
#[derive(Debug, Clone, PartialEq)]
pub struct HiddenChange {
    /// ‖edited − plain‖ / ‖plain‖, from 0 on; not finite where one of the states is not.
    pub relative: Array2<f32>,
    /// The cosine of both, −1 to 1.
    pub cosine: Array2<f32>,
}

/// The change of the hidden state by layer and by token; `None` if the runs are of different texts or models.
pub fn hidden_change(plain: &Run, edited: &Run) -> Option<HiddenChange> {
    let tokens = plain.input.tokens.len();
    let alike = plain.hidden.len() == edited.hidden.len()
        && plain.hidden.iter().zip(&edited.hidden).all(|(a, b)| a.dim() == b.dim() && a.nrows() == tokens);
    if !alike {
        return None;
    }
    let shape = (plain.hidden.len(), tokens);
    let vectors = |layer: usize, token: usize| (plain.hidden[layer].row(token), edited.hidden[layer].row(token));
    let relative = Array2::from_shape_fn(shape, |(layer, token)| {
        let (plain, edited) = vectors(layer, token);
        let length = plain.dot(&plain).sqrt();
        let moved = plain.iter().zip(edited).map(|(a, b)| (a - b) * (a - b)).sum::<f32>().sqrt();
        if length > 0.0 { moved / length } else { moved }
    });
    let cosine = Array2::from_shape_fn(shape, |(layer, token)| {
        let (plain, edited) = vectors(layer, token);
        cosine(plain, edited)
    });
    Some(HiddenChange { relative, cosine })
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn cosine_by_hand() {
        assert_eq!(cosine(array![3.0, 4.0].view(), array![6.0, 8.0].view()), 1.0);
        assert_eq!(cosine(array![1.0, 0.0].view(), array![0.0, 2.0].view()), 0.0);
        assert_eq!(cosine(array![1.0, 0.0].view(), array![-2.0, 0.0].view()), -1.0);
        assert_eq!(cosine(array![0.0, 0.0].view(), array![1.0, 0.0].view()), 0.0);
        for number in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert!(cosine(array![number, 1.0].view(), array![1.0, 0.0].view()).is_nan());
            assert!(cosine(array![0.0, 0.0].view(), array![1.0, number].view()).is_nan());
        }
        assert!((cosine(array![1.0, 1.0].view(), array![1.0, 0.0].view()) - 0.5f32.sqrt()).abs() < 1e-7);
    }
}
