use crate::run::ColorMap;

/// A colour, 0 to 255 for red, green and blue (sRGB).
pub type Rgb = [u8; 3];

/// ColorBrewer's nine classes of YlGnBu (Brewer 2013), between which matplotlib and seaborn draw straight lines.
const YL_GN_BU: [Rgb; 9] = [
    [255, 255, 217],
    [237, 248, 177],
    [199, 233, 180],
    [127, 205, 187],
    [65, 182, 196],
    [29, 145, 192],
    [34, 94, 168],
    [37, 52, 148],
    [8, 29, 88],
];

/// What a picture stands on: 0 is near it in colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Ground {
    #[default]
    Light,
    Dark,
}

/// 0 on a dark ground: a shade above the dark window's own.
const DARK: Rgb = [33, 36, 45];

/// From 0 downwards and upwards on a dark ground: blue and red, as on a light one, but the farther the lighter.
const BELOW: [Rgb; 5] = [DARK, [28, 76, 140], [62, 134, 206], [140, 195, 240], [214, 236, 253]];
const ABOVE: [Rgb; 5] = [DARK, [150, 44, 40], [222, 92, 72], [248, 166, 138], [253, 228, 214]];

/// 256 colours of a colour map, from no weight to the most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Palette([Rgb; 256]);

impl Palette {
    pub fn new(map: ColorMap) -> Self {
        Self(std::array::from_fn(|step| color(map, step as f64 / 255.0)))
    }

    /// The map's partner for this ground: on a dark one 0 is dark and much is light.
    pub fn on(map: ColorMap, ground: Ground) -> Self {
        match ground {
            Ground::Light => Self::new(map),
            Ground::Dark => Self::on_dark(map),
        }
    }

    fn on_dark(map: ColorMap) -> Self {
        let upward = |share: f64| match map {
            // In these, light is little: they are turned round.
            ColorMap::YlGnBu | ColorMap::Greys => color(map, 1.0 - share),
            ColorMap::Viridis | ColorMap::Magma | ColorMap::Cividis => color(map, share),
        };
        // What is no lighter than the ground is left out, and the first colours grow out of it.
        let lighter = |step: &u8| light(upward(f64::from(*step) / 255.0)) > light(DARK) + 4.0;
        let start = (0..=255u8).find(lighter).map_or(0.0, |step| f64::from(step) / 255.0);
        Self(std::array::from_fn(|step| {
            let share = step as f64 / 255.0;
            between(&[DARK, upward(start + (1.0 - start) * share)], share / 0.15)
        }))
    }

    /// Colours for differences on this ground, 0 in the middle.
    pub fn diverging_on(ground: Ground) -> Self {
        if ground == Ground::Light {
            return Self::diverging();
        }
        Self(std::array::from_fn(|step| {
            let share = step as f64 / 255.0 * 2.0 - 1.0;
            between(if share < 0.0 { &BELOW } else { &ABOVE }, share.abs())
        }))
    }

    /// ColorBrewer's red and blue, which readers who cannot tell red from green tell apart: blue below the middle.
    pub fn diverging() -> Self {
        Self(std::array::from_fn(|step| {
            let color = colorous::RED_BLUE.eval_continuous(1.0 - step as f64 / 255.0);
            [color.r, color.g, color.b]
        }))
    }

    /// The colour of a share of the range; what lies outside 0 to 1 takes the nearest end, NaN the lower one.
    pub fn at(&self, share: f32) -> Rgb {
        // A float that is out of range or NaN becomes the nearest integer or 0.
        self.0[usize::from((share * 255.0).round() as u8)]
    }

    /// The colours in order.
    pub fn steps(&self) -> &[Rgb; 256] {
        &self.0
    }
}

fn color(map: ColorMap, share: f64) -> Rgb {
    let gradient = match map {
        ColorMap::YlGnBu => return between(&YL_GN_BU, share),
        // Dark is much, as in the default map.
        ColorMap::Greys => colorous::GREYS,
        ColorMap::Viridis => colorous::VIRIDIS,
        ColorMap::Magma => colorous::MAGMA,
        ColorMap::Cividis => colorous::CIVIDIS,
    };
    let color = gradient.eval_continuous(share);
    [color.r, color.g, color.b]
}

/// How light a colour is, by the weights of ITU-R BT.709.
fn light([r, g, b]: Rgb) -> f64 {
    0.2126 * f64::from(r) + 0.7152 * f64::from(g) + 0.0722 * f64::from(b)
}

/// Straight lines between classes at equal distances.
fn between(classes: &[Rgb], share: f64) -> Rgb {
    let place = share.clamp(0.0, 1.0) * (classes.len() - 1) as f64;
    let lower = (place as usize).min(classes.len() - 2);
    let part = place - lower as f64;
    std::array::from_fn(|channel| {
        let (from, to) = (f64::from(classes[lower][channel]), f64::from(classes[lower + 1][channel]));
        (from + part * (to - from)).round() as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_and_the_middle_are_those_of_matplotlib() {
        // matplotlib 3.10: (colormaps["YlGnBu"](x)[:3] * 255).round() at 0, 0.25, 0.5 and 1 (index 0, 64, 128, 255).
        let palette = Palette::new(ColorMap::YlGnBu);
        for (step, expected) in [(0, [255, 255, 217]), (64, [199, 233, 180]), (128, [64, 181, 196]), (255, [8, 29, 88])]
        {
            let found = palette.steps()[step];
            let off = found.iter().zip(expected).map(|(a, b)| a.abs_diff(b)).max().unwrap();
            assert!(off <= 2, "step {step}: {found:?}, expected {expected:?}");
        }
    }

    #[test]
    fn outside_the_range_is_the_nearest_end() {
        let palette = Palette::new(ColorMap::Magma);
        assert_eq!(palette.at(-3.0), palette.at(0.0));
        assert_eq!(palette.at(f32::INFINITY), palette.at(1.0));
        assert_eq!(palette.at(f32::NAN), palette.at(0.0));
    }

    #[test]
    fn every_map_goes_monotonously_between_light_and_dark() {
        for map in ColorMap::ALL {
            let lightness =
                |rgb: &Rgb| 0.2126 * f32::from(rgb[0]) + 0.7152 * f32::from(rgb[1]) + 0.0722 * f32::from(rgb[2]);
            let steps: Vec<f32> = Palette::new(map).steps().iter().map(lightness).collect();
            let falls = steps.windows(2).filter(|pair| pair[1] < pair[0] - 2.0).count();
            let rises = steps.windows(2).filter(|pair| pair[1] > pair[0] + 2.0).count();
            assert!(falls == 0 || rises == 0, "{map}: {falls} falls and {rises} rises");
            assert!((steps[0] - steps[255]).abs() > 120.0, "{map} has too little contrast");
        }
    }
}
