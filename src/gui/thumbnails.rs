//! Thumbnails of all heads in one texture, painted on another thread.

use std::sync::Arc;

use egui::{Color32, ColorImage, Context, Rect, TextureHandle, TextureOptions, Ui, pos2, vec2};
use rayon::prelude::*;

use super::marks;
use crate::figure::{Tint, paint_attention};
use crate::metrics::{Frame, upper};
use crate::run::{HeadId, MapRange, Run, ViewSpec};

/// What the thumbnails depend on: they are painted again when one of these changes.
#[derive(Clone)]
pub struct ThumbnailsKey {
    run: Arc<Run>,
    /// The head, what is pooled and the crop do not matter.
    view: ViewSpec,
    /// The longest side of a thumbnail in pixels.
    tile: usize,
}

impl std::fmt::Debug for ThumbnailsKey {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "ThumbnailsKey({} pixels)", self.tile)
    }
}

impl PartialEq for ThumbnailsKey {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.run, &other.run) && (&self.view, self.tile) == (&other.view, other.tile)
    }
}

/// The thumbnails that are there, and those that are being painted.
#[derive(Default)]
pub struct Thumbnails {
    painted: Option<(ThumbnailsKey, TextureHandle)>,
    /// There are weights that are not finite among them.
    pub lacks: bool,
    under_way: bool,
}

impl Thumbnails {
    /// What must be painted next, `side` being how many pixels a thumbnail takes on the screen: nothing while others are
    /// being painted.
    pub fn wanted(&mut self, ui: &Ui, run: &Arc<Run>, view: &ViewSpec, side: f32) -> Option<ThumbnailsKey> {
        let view = ViewSpec { head: HeadId::default(), pooled: None, crop: None, ..view.clone() };
        // All of them must fit one texture of the graphics card.
        let maps = &run.attention;
        let most = ui.input(|input| input.max_texture_side) / maps.heads().max(maps.layers()).max(1);
        let tile = tile_pixels(side, maps.tokens()).min(most.max(1));
        let key = ThumbnailsKey { run: run.clone(), view, tile };
        let known = self.painted.as_ref().is_some_and(|(painted, _)| *painted == key);
        let wanted = (!known && !self.under_way).then_some(key);
        self.under_way |= wanted.is_some();
        wanted
    }

    /// Takes in what was painted.
    pub fn receive(&mut self, ctx: &Context, key: ThumbnailsKey, image: ColorImage) {
        self.under_way = false;
        // No colour map has this colour.
        self.lacks = image.pixels.contains(&marks::not_finite());
        let texture = match self.painted.take() {
            Some((_, mut texture)) => {
                texture.set(image, TextureOptions::NEAREST);
                texture
            }
            None => ctx.load_texture("all heads", image, TextureOptions::NEAREST),
        };
        self.painted = Some((key, texture));
    }

    /// Draws one head's thumbnail: the last one that was painted, until the newest comes.
    pub fn draw(&self, ui: &Ui, rect: Rect, head: HeadId) {
        let Some((key, texture)) = &self.painted else { return };
        let (layers, heads) = (key.run.attention.layers() as f32, key.run.attention.heads() as f32);
        let corner = pos2(head.head as f32 / heads, head.layer as f32 / layers);
        let uv = Rect::from_min_size(corner, vec2(1.0 / heads, 1.0 / layers));
        if uv.max.x <= 1.001 && uv.max.y <= 1.001 {
            ui.painter().image(texture.id(), rect, uv, Color32::WHITE);
        }
    }
}

/// Thumbnails have at most as many pixels as they are shown with, so that none is skipped; in steps, so that a
/// window being resized does not paint them anew for each pixel.
fn tile_pixels(shown: f32, tokens: usize) -> usize {
    let steps = [16, 24, 32, 48, 64, 96, 128, 192, 256];
    let fitting = steps.into_iter().rev().find(|&step| step as f32 <= shown).unwrap_or(steps[0]);
    fitting.min(tokens)
}

/// Paints the thumbnails of all heads, layers down and heads across. Each is pooled by maximum, so that thin structures
/// stay visible.
pub fn paint(key: &ThumbnailsKey) -> ColorImage {
    let maps = &key.run.attention;
    let (layers, heads) = (maps.layers(), maps.heads());
    let frame = Frame::of(&key.run.input, key.view.reading);
    let (width, height) = (frame.columns.len().clamp(1, key.tile.max(1)), frame.rows.len().clamp(1, key.tile.max(1)));
    // Over a layer or all heads the greatest weight is sought once, not once a head.
    let common = |layer: usize| -> Option<f32> {
        let view = ViewSpec { head: HeadId::new(layer, 0), ..key.view.clone() };
        let shown = frame.read(maps.head(view.head).ok()?);
        Some(upper(maps, &frame, &view, shown.view()))
    };
    let tops: Vec<Option<f32>> = match key.view.range {
        MapRange::Head => vec![None; layers],
        MapRange::Layer => (0..layers).map(common).collect(),
        MapRange::All | MapRange::Unit | MapRange::Fixed(_) => vec![common(0); layers],
    };
    let ids: Vec<HeadId> = HeadId::all(layers, heads).collect();
    let tiles: Vec<_> = ids
        .par_iter()
        .filter_map(|&id| {
            let map = frame.read(maps.head(id).ok()?);
            let view = ViewSpec { head: id, ..key.view.clone() };
            let top = tops[id.layer].unwrap_or_else(|| upper(maps, &frame, &view, map.view()));
            let tint = Tint::new(view.colors, top, view.scale);
            Some((id, paint_attention(map.view(), &tint, key.tile)))
        })
        .collect();
    let mut image = ColorImage::filled([heads * width, layers * height], Color32::TRANSPARENT);
    for (id, cells) in tiles {
        for (y, row) in cells.rgb.chunks_exact(cells.width.max(1) * 3).enumerate() {
            let start = (id.layer * height + y) * heads * width + id.head * width;
            for (pixel, rgb) in image.pixels[start..].iter_mut().zip(row.chunks_exact(3)) {
                *pixel = Color32::from_rgb(rgb[0], rgb[1], rgb[2]);
            }
        }
    }
    image
}
