//! All heads at once: layers down, heads across, a thumbnail each.

use std::sync::Arc;

use egui::{
    Align2, Color32, ColorImage, FontId, Rect, Response, Sense, Stroke, StrokeKind, TextureHandle, TextureOptions, Ui,
    Vec2, WidgetInfo, pos2, vec2,
};
use rayon::prelude::*;

use super::app::Action;
use super::share::{self, Copied};
use crate::figure::{Palette, paint};
use crate::run::{ColorMap, HeadId, MapRange, Run, ViewSpec};

/// Thumbnails of all heads in one texture.
#[derive(Default)]
pub struct Grid {
    atlas: Option<Atlas>,
}

struct Atlas {
    key: AtlasKey,
    texture: TextureHandle,
}

/// What the thumbnails depend on: they are painted again when one of these changes.
#[derive(Clone)]
struct AtlasKey {
    run: Arc<Run>,
    colors: ColorMap,
    range: MapRange,
    /// The longest side of a thumbnail in pixels.
    tile: usize,
}

impl PartialEq for AtlasKey {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.run, &other.run)
            && (self.colors, self.range, self.tile) == (other.colors, other.range, other.tile)
    }
}

const HEADER: f32 = 34.0;
const GAP: f32 = 3.0;

impl Grid {
    pub fn show(&mut self, ui: &mut Ui, run: &Arc<Run>, view: &ViewSpec, actions: &mut Vec<Action>) {
        let (layers, heads) = (run.attention.layers(), run.attention.heads());
        let space = ui.available_size();
        let width = (space.x - HEADER) / heads as f32;
        let height = (space.y - HEADER) / layers as f32;
        // Nearly square, as maps are; a little taller or wider where that fills the panel better.
        let cell = vec2(width.clamp(14.0, height * 1.7), height.clamp(14.0, width * 1.7))
            .clamp(Vec2::splat(14.0), Vec2::splat(180.0));
        let size = Vec2::splat(HEADER) + cell * vec2(heads as f32, layers as f32);
        egui::ScrollArea::both().id_salt("grid").auto_shrink(false).show(ui, |ui| {
            let (area, _) = ui.allocate_exact_size(size, Sense::hover());
            let origin = area.min + Vec2::splat(HEADER);
            let tile = tile_pixels((cell.min_elem() - GAP) * ui.pixels_per_point(), run.attention.tokens());
            let key = AtlasKey { run: run.clone(), colors: view.colors, range: view.range, tile };
            let texture = self.texture(ui, key);
            headers(ui, area, cell, layers, heads);
            for head in HeadId::all(layers, heads) {
                let corner = origin + vec2(head.head as f32, head.layer as f32) * cell;
                let rect = Rect::from_min_size(corner, cell - Vec2::splat(GAP));
                let uv = Rect::from_min_size(
                    pos2(head.head as f32 / heads as f32, head.layer as f32 / layers as f32),
                    vec2(1.0 / heads as f32, 1.0 / layers as f32),
                );
                ui.painter().image(texture, rect, uv, Color32::WHITE);
                let response = thumbnail(ui, rect, head, view.head == head);
                if response.clicked() {
                    actions.push(Action::Choose(head));
                }
                response.context_menu(|ui| {
                    let of_head = ViewSpec { head, ..view.clone() };
                    share::menu(ui, &of_head, &[Copied::Picture, Copied::Command], actions);
                });
            }
        });
    }

    fn texture(&mut self, ui: &Ui, key: AtlasKey) -> egui::TextureId {
        match &mut self.atlas {
            Some(atlas) if atlas.key == key => {}
            Some(atlas) => {
                atlas.texture.set(paint_all(&key), TextureOptions::NEAREST);
                atlas.key = key;
            }
            None => {
                let texture = ui.ctx().load_texture("all heads", paint_all(&key), TextureOptions::NEAREST);
                self.atlas = Some(Atlas { key, texture });
            }
        }
        self.atlas.as_ref().map_or_else(Default::default, |atlas| atlas.texture.id())
    }
}

/// Thumbnails have at most as many pixels as they are shown with, so that none is skipped; in steps, so that a
/// window being resized does not paint them anew for each pixel.
fn tile_pixels(shown: f32, tokens: usize) -> usize {
    let steps = [16, 24, 32, 48, 64, 96, 128, 192, 256];
    let fitting = steps.into_iter().rev().find(|&step| step as f32 <= shown).unwrap_or(steps[0]);
    fitting.min(tokens)
}

fn paint_all(key: &AtlasKey) -> ColorImage {
    let maps = &key.run.attention;
    let (layers, heads, tile) = (maps.layers(), maps.heads(), key.tile.max(1));
    let palette = Palette::new(key.colors);
    // Over all heads the greatest weight is sought once, not once a head.
    let common = (key.range == MapRange::All).then(|| maps.max().max(f32::MIN_POSITIVE));
    let ids: Vec<HeadId> = HeadId::all(layers, heads).collect();
    let tiles: Vec<_> = ids
        .par_iter()
        .filter_map(|&id| {
            let upper = common.or_else(|| key.range.upper(maps, id).ok())?;
            Some((id, paint(maps.head(id).ok()?, upper, &palette, tile)))
        })
        .collect();
    let mut image = ColorImage::filled([heads * tile, layers * tile], Color32::TRANSPARENT);
    for (id, cells) in tiles {
        for (y, row) in cells.rgb.chunks_exact(cells.width * 3).enumerate() {
            let start = (id.layer * tile + y) * heads * tile + id.head * tile;
            for (pixel, rgb) in image.pixels[start..].iter_mut().zip(row.chunks_exact(3)) {
                *pixel = Color32::from_rgb(rgb[0], rgb[1], rgb[2]);
            }
        }
    }
    image
}

fn thumbnail(ui: &Ui, rect: Rect, head: HeadId, chosen: bool) -> Response {
    let response = ui.interact(rect, ui.scope_id().with(("thumbnail", head)), Sense::click());
    let name = format!("Layer {}, head {}", head.layer, head.head);
    response.widget_info(|| WidgetInfo::selected(egui::Role::Button, true, chosen, &name));
    let visuals = ui.visuals();
    // The chosen head is known by its double frame, not by colour alone.
    if chosen {
        ui.painter().rect_stroke(rect, 1.0, Stroke::new(3.0, visuals.strong_text_color()), StrokeKind::Outside);
        ui.painter().rect_stroke(rect, 1.0, Stroke::new(1.5, visuals.selection.bg_fill), StrokeKind::Outside);
    } else if response.hovered() || response.has_focus() {
        ui.painter().rect_stroke(rect, 1.0, Stroke::new(1.5, visuals.text_color()), StrokeKind::Outside);
    }
    response.on_hover_text(name)
}

fn headers(ui: &Ui, area: Rect, cell: Vec2, layers: usize, heads: usize) {
    let painter = ui.painter();
    let (color, quiet) = (ui.visuals().text_color(), ui.visuals().weak_text_color());
    let font = FontId::proportional(12.0);
    let center = (cell - Vec2::splat(GAP)) / 2.0;
    for head in 0..heads {
        let at = area.min + vec2(HEADER + head as f32 * cell.x + center.x, HEADER - 9.0);
        painter.text(at, Align2::CENTER_CENTER, head, font.clone(), color);
    }
    for layer in 0..layers {
        let at = area.min + vec2(HEADER - 8.0, HEADER + layer as f32 * cell.y + center.y);
        painter.text(at, Align2::RIGHT_CENTER, layer, font.clone(), color);
    }
    let across = area.min + vec2(HEADER + heads as f32 * cell.x / 2.0, 8.0);
    painter.text(across, Align2::CENTER_CENTER, "Head", font.clone(), quiet);
    let down = area.min + vec2(8.0, HEADER + layers as f32 * cell.y / 2.0);
    super::marks::upright_at(painter, down, "Layer", font, quiet);
}
