//! Which part of a matrix is in view, and the texture that has the pixels for it.

use std::ops::Range;

use egui::{ColorImage, Pos2, Rect, Response, TextureHandle, TextureId, TextureOptions, Ui, Vec2, pos2, vec2};

use crate::figure::{Cells, Most};

/// The part of a matrix that is in view, of 0 to 1 along both sides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Zoom(pub(super) Rect);

impl Default for Zoom {
    fn default() -> Self {
        Self(Rect { min: Pos2::ZERO, max: pos2(1.0, 1.0) })
    }
}

impl Zoom {
    pub fn is_whole(self) -> bool {
        self == Self::default()
    }

    /// How much larger cells are than with the whole matrix in view.
    pub fn factor(self) -> f32 {
        1.0 / self.0.width()
    }

    /// The rows or columns in view of so many: those that are seen at all.
    pub fn rows(self, count: usize) -> Range<usize> {
        part(self.0.top(), self.0.bottom(), count)
    }

    pub fn columns(self, count: usize) -> Range<usize> {
        part(self.0.left(), self.0.right(), count)
    }

    /// The wheel zooms, dragging moves, a double click shows the whole; `most` is the greater number of rows or columns.
    pub fn navigate(&mut self, ui: &Ui, response: &Response, plot: Rect, most: usize) {
        if response.double_clicked() {
            *self = Self::default();
            return;
        }
        if response.dragged() {
            self.0 = self.0.translate(-(response.drag_delta() / plot.size() * self.0.size()));
        }
        if let Some(pointer) = response.hover_pos() {
            let (scrolled, pinched) = ui.input(|input| (input.smooth_scroll_delta().y, input.zoom_delta()));
            let factor = (scrolled / 240.0).exp() * pinched;
            if factor != 1.0 {
                // At least four cells stay in view.
                let least = (4.0 / most.max(4) as f32).min(1.0);
                let side = (self.0.width() / factor).clamp(least, 1.0);
                let at = (pointer - plot.min) / plot.size();
                let fixed = self.0.min + at * self.0.size();
                self.0 = Rect::from_min_size(fixed - at * side, Vec2::splat(side));
            }
        }
        let room = vec2(1.0, 1.0) - self.0.size();
        let corner = self.0.min.to_vec2().clamp(Vec2::ZERO, room.max(Vec2::ZERO));
        self.0 = Rect::from_min_size(corner.to_pos2(), self.0.size());
    }
}

fn part(from: f32, to: f32, count: usize) -> Range<usize> {
    (from * count as f32 + 0.001) as usize..((to * count as f32 - 0.001).ceil() as usize).min(count)
}

/// The texture that a matrix's cells are painted on.
#[derive(Default)]
pub struct Canvas {
    /// The most pixels along each side that it was painted with.
    painted: Option<Most>,
    texture: Option<TextureHandle>,
}

impl Canvas {
    /// What is to be shown has changed: it is painted again.
    pub fn clear(&mut self) {
        self.painted = None;
    }

    /// The texture with at most so many pixels along each side, painted if it is not yet.
    pub fn texture(&mut self, ui: &Ui, most: Most, paint: impl FnOnce(Most) -> Cells) -> TextureId {
        if self.painted != Some(most) {
            let cells = paint(most);
            let image = ColorImage::from_rgb([cells.width, cells.height], &cells.rgb);
            match &mut self.texture {
                Some(texture) => texture.set(image, TextureOptions::NEAREST),
                None => self.texture = Some(ui.ctx().load_texture("cells", image, TextureOptions::NEAREST)),
            }
            self.painted = Some(most);
        }
        self.texture.as_ref().map_or_else(TextureId::default, TextureHandle::id)
    }
}

/// How many pixels along each side a matrix of so many rows and columns is painted with, where it takes `plot` points of
/// the screen: never more than the screen has for it, or some cells would fall between them.
pub fn pixels(ui: &Ui, plot: Vec2, zoom: Zoom, [rows, columns]: [usize; 2]) -> Most {
    // Beyond 4096 cells along a side, or what the graphics card takes, neighbours are pooled at any zoom.
    let limit = ui.input(|input| input.max_texture_side).clamp(128, 4096);
    let along = |side: f32, cells: usize| {
        let pixels = (side * ui.pixels_per_point() * zoom.factor()) as usize;
        // In steps once it is zoomed, so that the wheel does not paint anew for each pixel.
        let pixels = if zoom.is_whole() || pixels < STEP { pixels } else { pixels / STEP * STEP };
        pixels.clamp(1, limit).min(cells)
    };
    [along(plot.y, rows), along(plot.x, columns)]
}

const STEP: usize = 64;
