use std::sync::Arc;

use ndarray::{Array2, ArrayView1, ArrayView2};
use rayon::prelude::*;

use crate::run::{AttentionMaps, HeadId};

/// How far two heads' patterns `[query, key]` differ: the Jensen–Shannon divergence of their rows, mean over rows, in
/// nats, from 0 (the same) to ln 2 (Clark et al. 2019). `None` if their shapes differ.
///
/// A row that attends to nothing is ln 2 away from one that attends to something; so is a row with weights that are not
/// finite from one without. Two such rows do not differ.
pub fn jensen_shannon(a: ArrayView2<'_, f32>, b: ArrayView2<'_, f32>) -> Option<f32> {
    if a.dim() != b.dim() || a.is_empty() {
        return None;
    }
    let total: f64 = a.rows().into_iter().zip(b.rows()).map(|(a, b)| f64::from(row_divergence(a, b))).sum();
    Some((total / a.nrows() as f64) as f32)
}

/// The Jensen–Shannon divergence of two rows, in nats, from 0 to ln 2.
pub(super) fn row_divergence(a: ArrayView1<'_, f32>, b: ArrayView1<'_, f32>) -> f32 {
    let lacking = |row: ArrayView1<'_, f32>| row.iter().any(|weight| !weight.is_finite());
    let nothing = |row: ArrayView1<'_, f32>| row.iter().all(|weight| *weight == 0.0);
    match (lacking(a), lacking(b)) {
        (true, true) => return 0.0,
        (true, false) | (false, true) => return std::f32::consts::LN_2,
        (false, false) => {}
    }
    match (nothing(a), nothing(b)) {
        (true, true) => return 0.0,
        (true, false) | (false, true) => return std::f32::consts::LN_2,
        (false, false) => {}
    }
    // ½ Σ a ln(a/m) + ½ Σ b ln(b/m) with m = ½ (a + b); 0 ln 0 is 0.
    let part = |share: f32, middle: f32| if share > 0.0 { share * (share / middle).ln() } else { 0.0 };
    let sum: f32 = a
        .iter()
        .zip(b)
        .map(|(&a, &b)| {
            let middle = 0.5 * (a + b);
            part(a, middle) + part(b, middle)
        })
        .sum();
    (0.5 * sum).clamp(0.0, std::f32::consts::LN_2)
}

/// How far each head of an edited run moved from the plain one: `[layer, head]`, Jensen–Shannon divergence in nats.
/// `None` if the runs are of different texts or models. A layer that both runs share has not moved.
pub fn movement(plain: &AttentionMaps, edited: &AttentionMaps) -> Option<Array2<f32>> {
    let shape = |maps: &AttentionMaps| (maps.layers(), maps.heads(), maps.tokens());
    if shape(plain) != shape(edited) {
        return None;
    }
    let heads: Vec<HeadId> = HeadId::all(plain.layers(), plain.heads()).collect();
    let moved = heads.par_iter().map(|&head| {
        let (old, new) = (plain.layer(head.layer)?, edited.layer(head.layer)?);
        if Arc::ptr_eq(old, new) { Some(0.0) } else { jensen_shannon(plain.head(head).ok()?, edited.head(head).ok()?) }
    });
    let moved: Option<Vec<f32>> = moved.collect();
    Array2::from_shape_vec((plain.layers(), plain.heads()), moved?).ok()
}

#[cfg(test)]
mod tests {
    use std::f32::consts::LN_2;

    use ndarray::array;

    use super::*;

    #[test]
    fn by_hand() {
        let a = array![[1.0, 0.0], [0.5, 0.5]];
        assert_eq!(jensen_shannon(a.view(), a.view()), Some(0.0));
        let opposite = array![[0.0, 1.0], [0.5, 0.5]];
        assert!((jensen_shannon(a.view(), opposite.view()).unwrap() - LN_2 / 2.0).abs() < 1e-6);
        // The entropy of the middle less the mean of the entropies.
        let entropy = |p: f32| -(p * p.ln() + (1.0 - p) * (1.0 - p).ln());
        let expected = entropy(0.25) - 0.5 * (entropy(0.1) + entropy(0.4));
        let found = jensen_shannon(array![[0.1, 0.9]].view(), array![[0.4, 0.6]].view()).unwrap();
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
    }

    #[test]
    fn a_row_without_weight_is_as_far_away_as_can_be() {
        let (nothing, something) = (array![[0.0, 0.0]], array![[0.5, 0.5]]);
        assert_eq!(jensen_shannon(nothing.view(), something.view()), Some(LN_2));
        assert_eq!(jensen_shannon(nothing.view(), nothing.view()), Some(0.0));
        assert_eq!(jensen_shannon(nothing.view(), array![[1.0]].view()), None);
    }
}
