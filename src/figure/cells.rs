use std::ops::Range;

use ndarray::{ArrayView1, ArrayView2};

use super::Tint;

/// The cells of a map as pixels: one cell, one pixel, or one pixel for a block of cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cells {
    pub width: usize,
    pub height: usize,
    /// RGB, row by row from the top.
    pub rgb: Vec<u8>,
}

/// The colour of a row without any weight: its query attends to nothing, since every edge was cut. No colour map has
/// it.
pub const NOTHING: [u8; 3] = [160, 150, 150];

/// The colour of a number that is infinite or none (NaN). No colour map comes near it.
pub const NOT_FINITE: [u8; 3] = [255, 0, 220];

/// What that colour stands for, in legends.
pub const NOT_FINITE_NAME: &str = "NaN, ±∞";

/// The most pixels that there are for the rows of a map, and for its columns.
pub type Most = [usize; 2];

/// Paints a map. One with more rows or columns than there are pixels is pooled by the level farthest from 0, so that a
/// thin line stays visible; a number that is not finite is never pooled away.
pub fn paint(map: ArrayView2<'_, f32>, tint: &Tint, most: Most) -> Cells {
    let (rows, columns) = map.dim();
    let (height, width) = (rows.min(most[0]), columns.min(most[1]));
    let mut rgb = Vec::with_capacity(width * height * 3);
    let blocks: Vec<Range<usize>> = (0..width).map(|x| block(x, width, columns)).collect();
    let mut pooled = vec![0f32; width];
    for y in 0..height {
        pooled.fill(0.0);
        for row in block(y, height, rows) {
            let values = map.row(row);
            for (pooled, block) in pooled.iter_mut().zip(&blocks) {
                for column in block.clone() {
                    let level = tint.level(row, values[column]);
                    if stands_out(level, *pooled) {
                        *pooled = level;
                    }
                }
            }
        }
        rgb.extend(pooled.iter().flat_map(|level| tint.of_level(*level)));
    }
    Cells { width, height, rgb }
}

/// The cell whose level is the colour of a pixel: that of the pixel at a place of the picture, from 0 to 1 downwards and
/// across.
pub fn cell_shown(map: ArrayView2<'_, f32>, tint: &Tint, most: Most, (down, across): (f32, f32)) -> (usize, usize) {
    let under = |share: f32, cells: usize, most: usize| {
        let pixels = cells.min(most).max(1);
        block(((share * pixels as f32) as usize).min(pixels - 1), pixels, cells)
    };
    let (rows, columns) = (under(down, map.nrows(), most[0]), under(across, map.ncols(), most[1]));
    let (mut shown, mut farthest) = ((rows.start, columns.start), 0.0);
    for cell in rows.flat_map(|row| columns.clone().map(move |column| (row, column))) {
        let level = map.get(cell).map_or(0.0, |value| tint.level(cell.0, *value));
        if stands_out(level, farthest) {
            (shown, farthest) = (cell, level);
        }
    }
    shown
}

/// A level is seen rather than another that falls on the same pixel.
fn stands_out(level: f32, other: f32) -> bool {
    !level.is_finite() || level.abs() > other.abs()
}

/// As [`paint`], for attention `[query, key]`: a row that is all zero is painted in [`NOTHING`].
pub fn paint_attention(map: ArrayView2<'_, f32>, tint: &Tint, most: Most) -> Cells {
    let mut cells = paint(map, tint, most);
    for y in 0..cells.height {
        if block(y, cells.height, map.nrows()).all(|row| is_dead(map.row(row))) {
            let line = y * cells.width * 3..(y + 1) * cells.width * 3;
            cells.rgb[line].chunks_exact_mut(3).for_each(|pixel| pixel.copy_from_slice(&NOTHING));
        }
    }
    cells
}

/// The rows or columns of a map that one row or column of so many pixels stands for.
fn block(at: usize, pixels: usize, cells: usize) -> Range<usize> {
    at * cells / pixels..(at + 1) * cells / pixels
}

/// Rows of a softmax have at least one weight above 0.
fn is_dead(row: ArrayView1<'_, f32>) -> bool {
    row.iter().all(|weight| *weight == 0.0)
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::run::{ColorMap, ColorScale};

    #[test]
    fn pooling_keeps_a_single_bright_cell_and_its_place() {
        let tint = Tint::new(ColorMap::YlGnBu, 1.0, ColorScale::Linear);
        for (query, key) in [(0, 0), (299, 0), (150, 299), (17, 203)] {
            let mut map = Array2::from_elem((300, 300), 1e-6);
            map[[query, key]] = 1.0;
            let cells = paint(map.view(), &tint, [64; 2]);
            assert_eq!((cells.width, cells.height, cells.rgb.len()), (64, 64, 64 * 64 * 3));
            let bright: Vec<usize> =
                cells.rgb.chunks(3).enumerate().filter(|(_, rgb)| **rgb == tint.at(0, 1.0)).map(|(i, _)| i).collect();
            assert_eq!(bright.len(), 1, "{query} → {key}");
            let (y, x) = (bright[0] / 64, bright[0] % 64);
            assert!(y.abs_diff(query * 64 / 300) <= 1 && x.abs_diff(key * 64 / 300) <= 1);
            let middle = ((y as f32 + 0.5) / 64.0, (x as f32 + 0.5) / 64.0);
            assert_eq!(cell_shown(map.view(), &tint, [64; 2], middle), (query, key));
        }
    }

    #[test]
    fn what_is_not_finite_has_a_colour_that_no_map_comes_near_and_is_not_pooled_away() {
        let apart = |rgb: &[u8; 3]| rgb.iter().zip(NOT_FINITE).any(|(a, b)| a.abs_diff(b) > 60);
        let maps = ColorMap::ALL.map(|map| Tint::new(map, 1.0, ColorScale::Linear));
        for tint in maps.iter().chain([&Tint::signed(1.0, ColorScale::Linear)]) {
            assert!(tint.steps().iter().all(apart) && apart(&NOTHING));
            for number in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                assert_eq!(tint.at(0, number), NOT_FINITE);
                let mut map = Array2::from_elem((300, 300), 0.5);
                map[[17, 203]] = number;
                map[[18, 204]] = 0.9;
                for most in [usize::MAX, 64, 1] {
                    let cells = paint_attention(map.view(), tint, [most; 2]);
                    let found = cells.rgb.chunks(3).filter(|rgb| **rgb == NOT_FINITE).count();
                    assert_eq!(found, 1, "{number} at {most}");
                }
            }
        }
    }

    #[test]
    fn a_row_that_attends_to_nothing_has_a_colour_of_its_own() {
        for map in ColorMap::ALL {
            let near = |rgb: &[u8; 3]| rgb.iter().zip(NOTHING).all(|(a, b)| a.abs_diff(b) < 8);
            assert!(
                !Tint::new(map, 1.0, ColorScale::Linear).steps().iter().any(near) || map == ColorMap::Greys,
                "{map}"
            );
        }
        let tint = Tint::new(ColorMap::YlGnBu, 1.0, ColorScale::Linear);
        let mut map = Array2::from_elem((4, 4), 0.25);
        map.row_mut(2).fill(0.0);
        let painted = |most| paint_attention(map.view(), &tint, [most; 2]);
        assert_eq!(painted(8).rgb[2 * 12..3 * 12], NOTHING.repeat(4));
        assert_eq!(painted(8).rgb[..12], tint.at(0, 0.25).repeat(4));
        map.row_mut(3).fill(0.0);
        assert_eq!(paint_attention(map.view(), &tint, [2; 2]).rgb[6..], NOTHING.repeat(2));
    }
}
