//! Holding a head's pattern while the text changes.

use ndarray::{Array2, ArrayView2};

use crate::run::align;

/// A token as alignment sees it: its piece, and whether it is a marker such as `[CLS]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    pub text: String,
    pub special: bool,
}

/// A pattern carried over to another text.
#[derive(Debug, Clone, PartialEq)]
pub struct Carried {
    /// `[query, key]` of the new text; each row sums to 1.
    pub weights: Array2<f32>,
    /// The share of the new text's tokens that have a partner in the old one.
    pub aligned: f32,
}

/// Carries a pattern `[query, key]` from the text it was seen on over to another one.
///
/// With the same pieces it is exact. Otherwise the pieces are aligned by longest common subsequence: a pair of aligned
/// tokens keeps its weight; a marker's column keeps its mean weight; the rest takes the pattern's mean at the same
/// relative offset between words (0 at offsets that it never had). Rows are scaled to the sum 1, an empty one becomes
/// uniform.
pub fn carry(pattern: ArrayView2<'_, f32>, from: &[Piece], to: &[Piece]) -> Carried {
    if from == to {
        return Carried { weights: pattern.to_owned(), aligned: 1.0 };
    }
    let partner = align(from, to);
    let by_offset = OffsetMeans::of(pattern, from);
    let column_mean: Vec<f32> = pattern.columns().into_iter().map(|column| column.mean().unwrap_or(0.0)).collect();
    let mut weights =
        Array2::from_shape_fn((to.len(), to.len()), |(query, key)| match (partner[query], partner[key]) {
            (Some(old_query), Some(old_key)) => pattern[[old_query, old_key]],
            (_, Some(old_key)) if to[key].special => column_mean[old_key],
            _ => by_offset.at(key as isize - query as isize),
        });
    for mut row in weights.rows_mut() {
        let sum = row.sum();
        if sum > 0.0 {
            row /= sum;
        } else {
            row.fill(1.0 / to.len() as f32);
        }
    }
    let aligned = partner.iter().flatten().count() as f32 / to.len().max(1) as f32;
    Carried { weights, aligned }
}

/// The mean weight at each relative offset key − query, over pairs of words.
struct OffsetMeans {
    /// From offset −(n − 1) on: sum and count.
    sums: Vec<(f32, u32)>,
    least: isize,
}

impl OffsetMeans {
    fn of(pattern: ArrayView2<'_, f32>, pieces: &[Piece]) -> Self {
        let least = 1 - pieces.len() as isize;
        let mut sums = vec![(0.0, 0); (2 * pieces.len()).saturating_sub(1)];
        for ((query, key), weight) in pattern.indexed_iter() {
            if !pieces[query].special && !pieces[key].special {
                let slot = &mut sums[(key as isize - query as isize - least) as usize];
                *slot = (slot.0 + weight, slot.1 + 1);
            }
        }
        Self { sums, least }
    }

    fn at(&self, offset: isize) -> f32 {
        let slot = usize::try_from(offset - self.least).ok().and_then(|slot| self.sums.get(slot));
        slot.filter(|(_, count)| *count > 0).map_or(0.0, |(sum, count)| sum / *count as f32)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    fn pieces(text: &str) -> Vec<Piece> {
        text.split(' ').map(|word| Piece { text: word.to_owned(), special: word.starts_with('[') }).collect()
    }

    #[test]
    fn on_the_same_pieces_it_is_exact() {
        let pattern = array![[0.3, 0.7], [0.1, 0.9]];
        let carried = carry(pattern.view(), &pieces("[CLS] a"), &pieces("[CLS] a"));
        assert_eq!((carried.weights, carried.aligned), (pattern, 1.0));
    }

    #[test]
    fn a_new_word_takes_the_means_by_offset_and_the_markers_mean_column() {
        // Each word looks at the word before it with 0.6, and at [CLS] with 0.4.
        let pattern = array![[1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.4, 0.6, 0.0, 0.0], [0.4, 0.0, 0.6, 0.0]];
        let carried = carry(pattern.view(), &pieces("[CLS] a b c"), &pieces("[CLS] a b new c"));
        assert!((carried.aligned - 0.8).abs() < 1e-6);
        let row = carried.weights.row(3).to_vec(); // “new”: [CLS] has mean 0.7, the offset −1 has mean 0.6
        let expected = [0.7 / 1.3, 0.0, 0.6 / 1.3, 0.0, 0.0];
        assert!(row.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{row:?}");
        // An aligned pair keeps its weight in proportion: “c” looked at “b” with 0.6, now two places back.
        let c = carried.weights.row(4).to_vec();
        assert!((c[2] / c[0] - 1.5).abs() < 1e-5, "{c:?}");
        assert!(carried.weights.rows().into_iter().all(|row| (row.sum() - 1.0).abs() < 1e-6));
    }

    #[test]
    fn a_row_with_nothing_to_go_by_becomes_uniform() {
        let pattern = array![[1.0]];
        let carried = carry(pattern.view(), &pieces("a"), &pieces("x y"));
        assert_eq!(carried.aligned, 0.0);
        // Only the offset 0 was ever seen.
        assert_eq!(carried.weights, array![[1.0, 0.0], [0.0, 1.0]]);
        let nothing = carry(array![[0.0, 1.0], [0.0, 1.0]].view(), &pieces("[CLS] [SEP]"), &pieces("x y"));
        assert_eq!(nothing.weights, array![[0.5, 0.5], [0.5, 0.5]]);
    }
}
