use plotters::coord::ranged1d::{BoldPoints, Ranged};

use super::{NOT_FINITE, Palette, Rgb};
use crate::run::{ColorMap, ColorScale};

/// Values to colours: which palette, up to which value, by which scale.
#[derive(Debug, Clone, PartialEq)]
pub struct Tint {
    palette: Palette,
    upper: f32,
    scale: ColorScale,
    /// The middle of the palette is 0, its ends are −upper and upper.
    signed: bool,
    /// What is drawn has numbers that are not finite: the legend says so.
    lacks: bool,
}

impl Tint {
    /// From 0 to `upper`, which is above 0.
    pub fn new(colors: ColorMap, upper: f32, scale: ColorScale) -> Self {
        Self { palette: Palette::new(colors), upper, scale, signed: false, lacks: false }
    }

    /// From −`upper` to `upper`, with 0 in the middle, in colours for differences.
    pub fn signed(upper: f32, scale: ColorScale) -> Self {
        Self { palette: Palette::diverging(), upper, scale, signed: true, lacks: false }
    }

    /// The same colours for what has these numbers: its legend names those that are not finite, if there are any.
    pub fn over<'a>(mut self, numbers: impl IntoIterator<Item = &'a f32>) -> Self {
        self.lacks = self.lacks || numbers.into_iter().any(|number| !number.is_finite());
        self
    }

    /// What the colour [`NOT_FINITE`] stands for, where something is drawn in it.
    pub fn legend(&self) -> Option<&'static str> {
        self.lacks.then_some("NaN, ±∞")
    }

    /// The value at the upper end.
    pub fn upper(&self) -> f32 {
        self.upper
    }

    /// Where a value stands among the colours, from 0 to 1.
    pub fn share(&self, value: f32) -> f32 {
        if !self.signed {
            return self.scale.share(value, self.upper);
        }
        0.5 + 0.5 * self.scale.share(value.abs(), self.upper).min(1.0).copysign(value)
    }

    /// The colour of a value: [`NOT_FINITE`] for one that is infinite or none.
    pub fn at(&self, value: f32) -> Rgb {
        if !value.is_finite() {
            return NOT_FINITE;
        }
        self.palette.at(self.share(value))
    }

    /// The colour of a share of the colour bar, from 0 at its lower end to 1.
    pub fn on_bar(&self, share: f32) -> Rgb {
        self.palette.at(share)
    }

    /// The colours of a bar, from its lower end.
    pub fn steps(&self) -> &[Rgb; 256] {
        self.palette.steps()
    }

    /// Marks of a colour bar: where they stand, from 0 to 1, and their labels.
    pub fn ticks(&self) -> Vec<(f32, String)> {
        let above = match self.scale {
            ColorScale::Linear | ColorScale::Sqrt => round_values(self.upper),
            ColorScale::Log => powers(self.upper),
        };
        let mut kept: Vec<(f32, String)> = Vec::new();
        // A scale that is not even crowds its marks: 0 comes first, then the largest.
        let zero = above.iter().filter(|(value, _)| *value == 0.0);
        let largest = above.iter().filter(|(value, _)| *value > 0.0).rev();
        for (value, label) in zero.chain(largest) {
            let mut keep = |share: f32, label: String| {
                if kept.iter().all(|(other, _)| (other - share).abs() > 0.05) {
                    kept.push((share, label));
                }
            };
            if self.signed && *value == 0.0 {
                keep(0.5, "0".to_owned());
            } else {
                keep(self.share(*value), label.clone());
                if self.signed {
                    keep(self.share(-value), format!("−{label}"));
                }
            }
        }
        kept.sort_by(|a, b| a.0.total_cmp(&b.0));
        kept
    }
}

/// Round numbers from 0 to `upper`, each with as many decimals as their step needs.
fn round_values(upper: f32) -> Vec<(f32, String)> {
    let values = plotters::coord::types::RangedCoordf32::from(0.0..upper).key_points(BoldPoints(7));
    let step = values.windows(2).map(|pair| pair[1] - pair[0]).fold(upper, f32::min);
    let decimals = (-step.log10().floor()).clamp(0.0, 8.0) as usize;
    let label = |value: f32| match decimals {
        // So many zeros would have no room beside the bar.
        5.. if value != 0.0 => format!("{value:.0e}"),
        5.. => "0".to_owned(),
        _ => format!("{value:.decimals$}"),
    };
    values.into_iter().map(|value| (value, label(value))).collect()
}

/// The lower end, and powers of ten above it.
fn powers(upper: f32) -> Vec<(f32, String)> {
    let least = upper * ColorScale::LEAST;
    let label = |power: i32| if power >= -3 { format!("{}", 10f64.powi(power)) } else { format!("1e{power}") };
    let first = least.log10().ceil() as i32;
    let last = upper.log10().floor() as i32;
    let powers = (first..=last).map(|power| (10f32.powi(power), label(power)));
    std::iter::once((0.0, format!("≤ {least:.0e}"))).chain(powers).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_stand_where_their_values_are() {
        let marks = |tint: &Tint| -> Vec<(f32, String)> { tint.ticks() };
        let linear = marks(&Tint::new(ColorMap::YlGnBu, 0.8, ColorScale::Linear));
        assert_eq!((linear[0].1.as_str(), linear[0].0), ("0.0", 0.0));
        assert!(linear.iter().any(|(at, label)| label == "0.4" && (at - 0.5).abs() < 1e-6), "{linear:?}");
        let root = marks(&Tint::new(ColorMap::YlGnBu, 0.8, ColorScale::Sqrt));
        assert!(root.iter().any(|(at, label)| label == "0.2" && (at - 0.5).abs() < 1e-6), "{root:?}");
        let log = marks(&Tint::new(ColorMap::YlGnBu, 1.0, ColorScale::Log));
        assert!(log.iter().any(|(at, label)| label == "0.01" && (at - 0.5).abs() < 1e-6), "{log:?}");
    }

    #[test]
    fn differences_have_0_in_the_middle_and_both_signs_alike() {
        for scale in ColorScale::ALL {
            let tint = Tint::signed(0.5, scale);
            assert_eq!(tint.share(0.0), 0.5);
            assert_eq!((tint.share(0.5), tint.share(-0.5), tint.share(-7.0)), (1.0, 0.0, 0.0));
            assert!((tint.share(0.1) + tint.share(-0.1) - 1.0).abs() < 1e-6);
            let marks = tint.ticks();
            assert!(marks.iter().any(|(at, _)| *at == 0.5) && marks.len() % 2 == 1, "{scale:?}: {marks:?}");
        }
    }
}
