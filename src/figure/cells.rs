use ndarray::ArrayView2;

use super::Palette;

/// The cells of a map as pixels: one cell, one pixel, or one pixel for a block of cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cells {
    pub width: usize,
    pub height: usize,
    /// RGB, row by row from the top.
    pub rgb: Vec<u8>,
}

/// Paints a map `[query, key]`, `upper` being the weight of the palette's last colour. A map with more than `most`
/// cells along a side is pooled by maximum, so that a thin line of attention stays visible.
pub fn paint(map: ArrayView2<'_, f32>, upper: f32, palette: &Palette, most: usize) -> Cells {
    let (rows, columns) = map.dim();
    let (height, width) = (rows.min(most), columns.min(most));
    let mut rgb = Vec::with_capacity(width * height * 3);
    if (height, width) == (rows, columns) {
        rgb.extend(map.iter().flat_map(|weight| palette.at(weight / upper)));
        return Cells { width, height, rgb };
    }
    let mut pooled = vec![0f32; width];
    for y in 0..height {
        pooled.fill(0.0);
        for row in (y * rows / height)..((y + 1) * rows / height) {
            for (column, weight) in map.row(row).iter().enumerate() {
                let x = column * width / columns;
                pooled[x] = pooled[x].max(*weight);
            }
        }
        rgb.extend(pooled.iter().flat_map(|weight| palette.at(weight / upper)));
    }
    Cells { width, height, rgb }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::run::ColorMap;

    #[test]
    fn pooling_keeps_a_single_bright_cell_and_its_place() {
        let palette = Palette::new(ColorMap::YlGnBu);
        for (query, key) in [(0, 0), (299, 0), (150, 299), (17, 203)] {
            let mut map = Array2::zeros((300, 300));
            map[[query, key]] = 1.0;
            let cells = paint(map.view(), 1.0, &palette, 64);
            assert_eq!((cells.width, cells.height, cells.rgb.len()), (64, 64, 64 * 64 * 3));
            let bright: Vec<usize> =
                cells.rgb.chunks(3).enumerate().filter(|(_, rgb)| **rgb == palette.at(1.0)).map(|(i, _)| i).collect();
            assert_eq!(bright.len(), 1, "{query} → {key}");
            let (y, x) = (bright[0] / 64, bright[0] % 64);
            assert!(y.abs_diff(query * 64 / 300) <= 1 && x.abs_diff(key * 64 / 300) <= 1);
        }
    }
}
