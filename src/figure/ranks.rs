//! Values by their rank, for colours that show faint patterns beside strong ones.

use ndarray::ArrayView2;
use rayon::prelude::*;

/// Which share of the sizes above 0 of some maps a size reaches.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Ranks {
    /// Sizes at equal distances of rank, the greatest last; all of them where they are few.
    sizes: Vec<f32>,
}

/// As many steps as no screen tells apart.
const STEPS: usize = 1024;

impl Ranks {
    /// Of the sizes above `least`: values without their sign. What is not finite has no rank.
    pub fn of(maps: &[ArrayView2<'_, f32>], least: f32) -> Self {
        let sizes = maps.iter().flatten().map(|value| value.abs());
        let mut sizes: Vec<f32> = sizes.filter(|size| size.is_finite() && *size > least).collect();
        sizes.par_sort_unstable_by(f32::total_cmp);
        let count = sizes.len();
        if count > STEPS {
            sizes = (1..=STEPS).map(|step| sizes[(step * count).div_ceil(STEPS) - 1]).collect();
        }
        Self { sizes }
    }

    /// The share of them that are no greater: 1 for the greatest, 0 for what is below all of them.
    pub fn share(&self, size: f32) -> f32 {
        let below = self.sizes.partition_point(|other| *other <= size);
        below as f32 / self.sizes.len().max(1) as f32
    }

    /// The size at a share, for the marks of a colour bar.
    pub fn at(&self, share: f32) -> Option<f32> {
        let place = (share * self.sizes.len() as f32).ceil() as usize;
        self.sizes.get(place.saturating_sub(1)).copied()
    }
}
