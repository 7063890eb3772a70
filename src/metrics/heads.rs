use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

use crate::run::{AttentionMaps, HeadId, Input, Role};

/// A number that tells what kind of pattern a head has: each a mean over all queries whose weights are finite. Where
/// there is no such query the number is NaN: there is nothing to be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HeadMetric {
    /// −Σⱼ Aᵢⱼ ln Aᵢⱼ in nats: from 0, all weight on one key, to ln n (Clark et al. 2019).
    Entropy,
    /// maxⱼ Aᵢⱼ (Voita et al. 2019).
    Confidence,
    /// Σⱼ Aᵢⱼ·|i − j| in tokens (Vig & Belinkov 2019).
    Distance,
    /// Aᵢ,ᵢ₋₁: the weight on the token before (Clark et al. 2019).
    Previous,
    /// Aᵢ,ᵢ₊₁: the weight on the token behind (Clark et al. 2019).
    Next,
    /// The weight on markers such as `[CLS]` and `[SEP]` (Clark et al. 2019).
    Specials,
    /// The weight on the other text of a pair (Clark et al. 2019).
    OtherText,
}

impl HeadMetric {
    pub const ALL: [Self; 7] =
        [Self::Entropy, Self::Confidence, Self::Distance, Self::Previous, Self::Next, Self::Specials, Self::OtherText];

    pub fn name(self) -> &'static str {
        match self {
            Self::Entropy => "entropy",
            Self::Confidence => "confidence",
            Self::Distance => "distance",
            Self::Previous => "previous token",
            Self::Next => "next token",
            Self::Specials => "special tokens",
            Self::OtherText => "other text",
        }
    }

    /// What the number is, with its unit.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Entropy => "how evenly weights are spread, in nats; 0 is all on one token",
            Self::Confidence => "the largest weight of each query, mean over queries",
            Self::Distance => "how far away, in tokens, what is attended to stands",
            Self::Previous => "the weight on the token before",
            Self::Next => "the weight on the token behind",
            Self::Specials => "the weight on special tokens such as [CLS] and [SEP]",
            Self::OtherText => "the weight on the other text of a pair",
        }
    }

    /// The number of one head's map `[query, key]`.
    pub fn of(self, map: ArrayView2<'_, f32>, input: &Input) -> f32 {
        let row = |query: usize| {
            let weights = map.row(query);
            match self {
                Self::Entropy => -weights.iter().filter(|w| **w > 0.0).map(|w| w * w.ln()).sum::<f32>(),
                Self::Confidence => weights.iter().copied().fold(0.0, f32::max),
                Self::Distance => weights.iter().enumerate().map(|(key, w)| w * query.abs_diff(key) as f32).sum(),
                Self::Previous => query.checked_sub(1).map_or(0.0, |key| weights[key]),
                Self::Next => weights.get(query + 1).copied().unwrap_or(0.0),
                Self::Specials => {
                    let marker = |key: usize| input.tokens[key].role != Role::Word;
                    weights.iter().enumerate().filter(|(key, _)| marker(*key)).map(|(_, w)| w).sum()
                }
                Self::OtherText => {
                    let other = |key: usize| input.tokens[key].segment != input.tokens[query].segment;
                    weights.iter().enumerate().filter(|(key, _)| other(*key)).map(|(_, w)| w).sum()
                }
            }
        };
        let told = |query: &usize| map.row(*query).iter().all(|weight| weight.is_finite());
        let told: Vec<usize> = (0..map.nrows()).filter(told).collect();
        match told.len() {
            0 if map.nrows() > 0 => f32::NAN,
            count => told.into_iter().map(row).sum::<f32>() / count.max(1) as f32,
        }
    }

    /// The number of every head, `[layer, head]`.
    pub fn of_all(self, maps: &AttentionMaps, input: &Input) -> Array2<f32> {
        let heads: Vec<HeadId> = HeadId::all(maps.layers(), maps.heads()).collect();
        let values: Vec<f32> =
            heads.par_iter().map(|head| maps.head(*head).map_or(0.0, |map| self.of(map, input))).collect();
        Array2::from_shape_vec((maps.layers(), maps.heads()), values).unwrap_or_default()
    }
}
