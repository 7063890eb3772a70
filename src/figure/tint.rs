use ndarray::ArrayView2;
use plotters::coord::ranged1d::{BoldPoints, Ranged};

use super::ranks::Ranks;
use super::{Ground, NOT_FINITE, NOT_FINITE_NAME, Palette, Rgb};
use crate::run::{ColorMap, ColorScale};

/// Values to colours: which palette, up to which value, by which scale.
#[derive(Debug, Clone, PartialEq)]
pub struct Tint {
    /// `None` for the colours of differences.
    colors: Option<ColorMap>,
    palette: Palette,
    upper: f32,
    scale: ColorScale,
    /// The middle of the palette is 0, its ends are −upper and upper.
    signed: bool,
    /// What is drawn has numbers that are not finite: the legend says so.
    lacks: bool,
    /// The greatest size of each row, for colours by row.
    rows: Vec<f32>,
    /// For colours by percentile.
    ranks: Ranks,
}

/// What two passes over the same text differ by is no difference.
pub(super) const NO_DIFFERENCE: f32 = 1e-5;

impl Tint {
    /// From 0 to `upper`, which is above 0.
    pub fn new(colors: ColorMap, upper: f32, scale: ColorScale) -> Self {
        let (rows, ranks) = (Vec::new(), Ranks::default());
        Self {
            colors: Some(colors),
            palette: Palette::new(colors),
            upper,
            scale,
            signed: false,
            lacks: false,
            rows,
            ranks,
        }
    }

    /// From −`upper` to `upper`, with 0 in the middle, in colours for differences.
    pub fn signed(upper: f32, scale: ColorScale) -> Self {
        let (rows, ranks) = (Vec::new(), Ranks::default());
        Self { colors: None, palette: Palette::diverging(), upper, scale, signed: true, lacks: false, rows, ranks }
    }

    /// The same colours for these whole maps, of which the first is the one that is painted: its legend names numbers that
    /// are not finite, if any of the maps has one; its rows are those of colours by row; a rank is one among all.
    pub fn over(mut self, maps: &[ArrayView2<'_, f32>]) -> Self {
        self.lacks = self.lacks || maps.iter().flatten().any(|number| !number.is_finite());
        match (self.scale, maps.first()) {
            (ColorScale::ByRow, Some(map)) => {
                let finite = |size: &f32| size.is_finite();
                let greatest = |sizes: &mut dyn Iterator<Item = f32>| sizes.filter(finite).fold(0.0, f32::max);
                self.rows = map.rows().into_iter().map(|row| greatest(&mut row.iter().map(|x| x.abs()))).collect();
            }
            (ColorScale::Percentile, _) => self.ranks = Ranks::of(maps, self.least()),
            _ => {}
        }
        self
    }

    /// Their partners for this ground.
    pub fn on(mut self, ground: Ground) -> Self {
        self.palette = self.colors.map_or_else(|| Palette::diverging_on(ground), |map| Palette::on(map, ground));
        self
    }

    /// The same colours for a part of the map, which begins with this row.
    pub fn from_row(mut self, first: usize) -> Self {
        self.rows.drain(..first.min(self.rows.len()));
        self
    }

    /// A size up to which a value counts as 0.
    fn least(&self) -> f32 {
        if self.signed { NO_DIFFERENCE } else { 0.0 }
    }

    /// What the colour [`NOT_FINITE`] stands for, where something is drawn in it.
    pub fn legend(&self) -> Option<&'static str> {
        self.lacks.then_some(NOT_FINITE_NAME)
    }

    /// The value at the upper end.
    pub fn upper(&self) -> f32 {
        self.upper
    }

    /// What decides a value's colour, and which of several values a pixel shows: by row, its share of the row's greatest;
    /// else the value itself.
    pub fn level(&self, row: usize, value: f32) -> f32 {
        if self.scale != ColorScale::ByRow || !value.is_finite() {
            return value;
        }
        let greatest = self.rows.get(row).copied().unwrap_or(self.upper);
        if greatest > self.least() { value / greatest } else { 0.0 }
    }

    /// Where a level stands among the colours, from 0 to 1.
    pub fn share(&self, level: f32) -> f32 {
        let size = if self.signed { level.abs() } else { level };
        let share = match self.scale {
            ColorScale::ByRow => size,
            ColorScale::Percentile => self.ranks.share(size),
            scale => scale.share(size, self.upper),
        };
        if self.signed { 0.5 + 0.5 * share.min(1.0).copysign(level) } else { share }
    }

    /// The colour of a value in a row: [`NOT_FINITE`] for one that is infinite or none.
    pub fn at(&self, row: usize, value: f32) -> Rgb {
        self.of_level(self.level(row, value))
    }

    /// The colour of a level.
    pub fn of_level(&self, level: f32) -> Rgb {
        if !level.is_finite() {
            return NOT_FINITE;
        }
        self.palette.at(self.share(level))
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
            ColorScale::ByRow => (0..=5).map(|fifth| (fifth as f32 / 5.0, format!("{}%", fifth * 20))).collect(),
            ColorScale::Percentile => self.quartiles(),
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

    /// 0, and the values that a quarter, a half, three quarters and all of the others do not exceed.
    fn quartiles(&self) -> Vec<(f32, String)> {
        let values = [0.25, 0.5, 0.75, 1.0].into_iter().filter_map(|share| self.ranks.at(share));
        std::iter::once((0.0, "0".to_owned())).chain(values.map(|value| (value, two_digits(value)))).collect()
    }
}

/// A number above 0 with two digits that count.
fn two_digits(value: f32) -> String {
    let decimals = 1 - value.log10().floor() as i32;
    if decimals > 4 { format!("{value:.1e}") } else { format!("{value:.*}", decimals.max(0) as usize) }
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
    fn by_row_each_row_reaches_the_last_colour_and_by_percentile_each_quarter_has_its_share() {
        let map = ndarray::array![[0.8, 0.2, 0.0], [0.004, 0.002, f32::NAN], [0.0, 0.0, 0.0]];
        let by_row = Tint::new(ColorMap::Greys, 0.8, ColorScale::ByRow).over(&[map.view()]);
        assert_eq!([by_row.level(0, 0.2), by_row.level(1, 0.002), by_row.level(2, 0.0)], [0.25, 0.5, 0.0]);
        assert_eq!((by_row.at(0, 0.8), by_row.at(1, 0.004)), (by_row.on_bar(1.0), by_row.on_bar(1.0)));
        assert_eq!((by_row.at(1, f32::NAN), by_row.legend().is_some()), (NOT_FINITE, true));
        assert_eq!(by_row.clone().from_row(1).at(0, 0.002), by_row.at(1, 0.002));
        assert_eq!(by_row.ticks().last().unwrap(), &(1.0, "100%".to_owned()));

        let rank = Tint::new(ColorMap::Greys, 0.8, ColorScale::Percentile).over(&[map.view()]);
        assert_eq!([0.0, 0.002, 0.004, 0.2, 0.8].map(|value| rank.share(value)), [0.0, 0.25, 0.5, 0.75, 1.0]);
        let marks = [(0.0, "0"), (0.25, "0.0020"), (0.5, "0.0040"), (0.75, "0.20"), (1.0, "0.80")];
        assert_eq!(rank.ticks(), marks.map(|(share, label)| (share, label.to_owned())));
    }

    #[test]
    fn ranks_of_a_large_map_are_those_of_counting() {
        let mut random = 1u32;
        let map = ndarray::Array2::from_shape_simple_fn((300, 300), || {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random as f32 / u32::MAX as f32).powi(6)
        });
        let rank = Tint::new(ColorMap::Greys, 1.0, ColorScale::Percentile).over(&[map.view()]);
        for value in map.iter().step_by(997) {
            let counted = map.iter().filter(|other| *other <= value).count() as f32 / 90_000.0;
            assert!((rank.share(*value) - counted).abs() < 2e-3, "{value}: {} and {counted}", rank.share(*value));
        }
    }

    #[test]
    fn differences_have_0_in_the_middle_and_both_signs_alike() {
        for scale in ColorScale::ALL {
            let map = ndarray::array![[0.0, 0.5, -0.5], [0.1, -0.1, 0.02]];
            let tint = Tint::signed(0.5, scale).over(&[map.view()]);
            let share = |value: f32| tint.share(tint.level(0, value));
            assert_eq!(share(0.0), 0.5);
            assert_eq!((share(0.5), share(-0.5), share(-7.0)), (1.0, 0.0, 0.0));
            assert!((share(0.1) + share(-0.1) - 1.0).abs() < 1e-6);
            let marks = tint.ticks();
            assert!(marks.iter().any(|(at, _)| *at == 0.5) && marks.len() % 2 == 1, "{scale:?}: {marks:?}");
        }
    }
}
