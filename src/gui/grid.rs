//! All heads at once: layers down, heads across, a thumbnail each.

use std::collections::BTreeSet;
use std::sync::Arc;

use egui::{
    Align2, Color32, ColorImage, FontId, Pos2, Rect, Response, Sense, Stroke, StrokeKind, TextureHandle,
    TextureOptions, Ui, Vec2, WidgetInfo, pos2, vec2,
};
use ndarray::Array2;
use rayon::prelude::*;

use super::action::{Action, patterns};
use super::edits::{self, Offer};
use super::ranking::Ranking;
use super::share::{self, Copied};
use super::surgery::Surgery;
use crate::figure::{Palette, paint_attention};
use crate::run::{ColorMap, HeadId, HeadPattern, MapRange, Run, ViewSpec};

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

/// What the grid shows.
#[derive(Clone, Copy)]
pub struct Shown<'a> {
    pub run: &'a Arc<Run>,
    pub view: &'a ViewSpec,
    pub selection: &'a BTreeSet<HeadId>,
    pub surgery: &'a Surgery,
    /// How far each head moved from the plain run, `[layer, head]`.
    pub movement: Option<&'a Array2<f32>>,
    /// How far the head that moved most did.
    pub furthest: f32,
    /// What is known of each head's worth, which takes the place of the maps.
    pub ranking: Option<&'a Ranking>,
    /// The run that was pinned, from which heads can be patched.
    pub pinned: Option<&'a Run>,
}

impl Shown<'_> {
    fn menu(&self) -> Offer<'_> {
        Offer { surgery: self.surgery, run: self.run, pinned: self.pinned }
    }
}

const HEADER: f32 = 34.0;
const GAP: f32 = 3.0;

impl Grid {
    pub fn show(&mut self, ui: &mut Ui, shown: &Shown<'_>, actions: &mut Vec<Action>) {
        let Shown { run, view, .. } = *shown;
        let (layers, heads) = (run.attention.layers(), run.attention.heads());
        let space = ui.available_size();
        let width = (space.x - HEADER) / heads as f32;
        let height = (space.y - HEADER) / layers as f32;
        // Nearly square, as maps are; a little taller or wider where that fills the panel better.
        let cell = vec2(width.clamp(14.0, height * 1.7), height.clamp(14.0, width * 1.7))
            .clamp(Vec2::splat(14.0), Vec2::splat(180.0));
        let size = Vec2::splat(HEADER) + cell * vec2(heads as f32, layers as f32);
        egui::ScrollArea::both().id_salt("grid").auto_shrink([false, true]).show(ui, |ui| {
            let (area, _) = ui.allocate_exact_size(size, Sense::hover());
            let origin = area.min + Vec2::splat(HEADER);
            let tile = tile_pixels((cell.min_elem() - GAP) * ui.pixels_per_point(), run.attention.tokens());
            let key = AtlasKey { run: run.clone(), colors: view.colors, range: view.range, tile };
            let scale = shown.ranking.map(|ranking| EffectScale::of(ranking.values(), view.colors));
            // Thumbnails that are not shown are not painted.
            let texture = if scale.is_none() { self.texture(ui, key) } else { egui::TextureId::default() };
            headers(ui, area, cell, shown, actions);
            for head in HeadId::all(layers, heads) {
                let corner = origin + vec2(head.head as f32, head.layer as f32) * cell;
                let rect = Rect::from_min_size(corner, cell - Vec2::splat(GAP));
                let uv = Rect::from_min_size(
                    pos2(head.head as f32 / heads as f32, head.layer as f32 / layers as f32),
                    vec2(1.0 / heads as f32, 1.0 / layers as f32),
                );
                match shown.ranking.zip(scale.as_ref()) {
                    None => {
                        ui.painter().image(texture, rect, uv, Color32::WHITE);
                    }
                    Some((ranking, scale)) => {
                        draw_effect(ui, rect, ranking.values()[(head.layer, head.head)], scale);
                    }
                }
                let response = thumbnail(ui, rect, head, shown);
                if response.clicked() {
                    let held = ui.input(|input| input.modifiers);
                    actions.push(if held.command {
                        Action::ToggleZero(vec![head.into()])
                    } else if held.shift {
                        Action::Select(head)
                    } else {
                        Action::Choose(head)
                    });
                }
                response.context_menu(|ui| {
                    edits::menu(ui, &patterns(shown.selection, head), &shown.menu(), actions);
                    ui.separator();
                    let of_head = ViewSpec { head, crop: None, ..view.clone() };
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
            Some((id, paint_attention(maps.head(id).ok()?, upper, &palette, tile)))
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

/// How effects become colours: the largest of them, whatever its sign, takes the last one.
struct EffectScale {
    palette: Palette,
    most: f32,
}

impl EffectScale {
    fn of(effects: &Array2<f32>, colors: ColorMap) -> Self {
        let most = effects.iter().fold(f32::MIN_POSITIVE, |most, effect| most.max(effect.abs()));
        Self { palette: Palette::new(colors), most }
    }
}

/// A head's effect as a colour by its size and, where there is room, a number with its sign.
fn draw_effect(ui: &Ui, rect: Rect, effect: f32, scale: &EffectScale) {
    if effect.is_nan() {
        // An experiment under way has not come to this layer.
        ui.painter().rect_stroke(rect, 0.0, Stroke::new(1.0, ui.visuals().weak_text_color()), StrokeKind::Inside);
        return;
    }
    let [r, g, b] = scale.palette.at(effect.abs() / scale.most);
    ui.painter().rect_filled(rect, 0.0, Color32::from_rgb(r, g, b));
    if rect.width() >= 34.0 {
        // Black on light, white on dark, by the weights of ITU-R BT.601.
        let light = 0.299 * f32::from(r) + 0.587 * f32::from(g) + 0.114 * f32::from(b) > 140.0;
        let ink = if light { Color32::BLACK } else { Color32::WHITE };
        let text = format!("{effect:+.3}");
        ui.painter().text(rect.center(), Align2::CENTER_CENTER, text, FontId::proportional(11.0), ink);
    }
}

fn thumbnail(ui: &Ui, rect: Rect, head: HeadId, shown: &Shown<'_>) -> Response {
    let response = ui.interact(rect, ui.scope_id().with(("thumbnail", head)), Sense::click());
    let chosen = shown.view.head == head;
    let selected = shown.selection.contains(&head);
    let (zero, touched) = (shown.surgery.is_zero(head), shown.surgery.touches(head));
    let name = format!("Layer {}, head {}", head.layer, head.head);
    let state = match (zero, touched) {
        _ if shown.run.model.pruned.contains(&head) => ", pruned",
        (true, _) => ", off",
        (false, true) => ", edited",
        (false, false) => "",
    };
    response
        .widget_info(|| WidgetInfo::selected(egui::Role::Button, true, chosen || selected, format!("{name}{state}")));
    let (painter, visuals) = (ui.painter(), ui.visuals());
    // States are told by shape, not by colour alone: off is crossed out, edited has a folded corner.
    if zero {
        let stroke = |width, color| Stroke::new(width, color);
        for (width, color) in [(4.0, Color32::from_white_alpha(200)), (2.0, Color32::from_rgb(190, 30, 45))] {
            painter.line_segment([rect.left_top(), rect.right_bottom()], stroke(width, color));
            painter.line_segment([rect.right_top(), rect.left_bottom()], stroke(width, color));
        }
    } else if touched {
        let side = (rect.width() * 0.35).min(12.0);
        let corner = rect.right_top();
        let fold = vec![corner, corner - vec2(side, 0.0), corner + vec2(0.0, side)];
        painter.add(egui::Shape::convex_polygon(
            fold,
            Color32::from_rgb(190, 30, 45),
            Stroke::new(1.0, Color32::WHITE),
        ));
    }
    let moved = shown.movement.and_then(|moved| moved.get((head.layer, head.head))).copied().unwrap_or(0.0);
    if moved > 0.0 {
        // A bar along the lower edge, beside that of the head that moved most; by the root, so that small movements show.
        let share = (moved / shown.furthest.max(moved)).sqrt();
        let bar = Rect::from_min_max(pos2(rect.left(), rect.bottom() - 4.0), rect.max);
        painter.rect_filled(bar, 0.0, Color32::from_white_alpha(210));
        let filled = Rect::from_min_size(bar.min, vec2(bar.width() * share, bar.height()));
        painter.rect_filled(filled, 0.0, Color32::from_rgb(215, 95, 20));
    }
    // A selected head has a tick in a round mark.
    if selected {
        let center = rect.left_top() + vec2(8.0, 8.0);
        painter.circle(center, 7.0, visuals.selection.bg_fill, Stroke::new(1.0, visuals.strong_text_color()));
        let tick = [center + vec2(-3.0, 0.0), center + vec2(-1.0, 2.5), center + vec2(3.5, -2.5)];
        painter.line(tick.to_vec(), Stroke::new(1.5, visuals.strong_text_color()));
    }
    // The chosen head is known by its double frame.
    if chosen {
        painter.rect_stroke(rect, 1.0, Stroke::new(3.0, visuals.strong_text_color()), StrokeKind::Outside);
        painter.rect_stroke(rect, 1.0, Stroke::new(1.5, visuals.selection.bg_fill), StrokeKind::Outside);
    } else if response.hovered() || response.has_focus() {
        painter.rect_stroke(rect, 1.0, Stroke::new(1.5, visuals.text_color()), StrokeKind::Outside);
    }
    let effect = shown.ranking.map_or(String::new(), |ranking| format!("\n{}", ranking.explain(head.layer, head.head)));
    let moved = match shown.movement {
        Some(_) => format!("\nmoved {moved:.4} nats from the plain model (Jensen–Shannon, at most 0.6931)"),
        None => String::new(),
    };
    response.on_hover_text(format!("{name}{state}{effect}{moved}"))
}

/// The numbers of heads and layers; a right-click on one offers what can be done to the whole column or layer.
fn headers(ui: &Ui, area: Rect, cell: Vec2, shown: &Shown<'_>, actions: &mut Vec<Action>) {
    let (layers, heads) = (shown.run.attention.layers(), shown.run.attention.heads());
    let quiet = ui.visuals().weak_text_color();
    let font = FontId::proportional(12.0);
    let center = (cell - Vec2::splat(GAP)) / 2.0;
    for head in 0..heads {
        let at = area.min + vec2(HEADER + head as f32 * cell.x + center.x, HEADER - 9.0);
        header(ui, at, vec2(cell.x, 18.0), HeadPattern { layer: None, head: Some(head) }, shown, actions);
    }
    for layer in 0..layers {
        let at = area.min + vec2(HEADER - 10.0, HEADER + layer as f32 * cell.y + center.y);
        header(ui, at, vec2(18.0, cell.y), HeadPattern { layer: Some(layer), head: None }, shown, actions);
    }
    let across = area.min + vec2(HEADER + heads as f32 * cell.x / 2.0, 8.0);
    ui.painter().text(across, Align2::CENTER_CENTER, "Head", font.clone(), quiet);
    let down = area.min + vec2(8.0, HEADER + layers as f32 * cell.y / 2.0);
    super::marks::upright_at(ui.painter(), down, "Layer", font, quiet);
}

fn header(ui: &Ui, at: Pos2, size: Vec2, heads: HeadPattern, shown: &Shown<'_>, actions: &mut Vec<Action>) {
    let (number, name) = match (heads.layer, heads.head) {
        (Some(layer), _) => (layer, format!("All heads of layer {layer}")),
        (None, head) => (head.unwrap_or(0), format!("Head {} of every layer", head.unwrap_or(0))),
    };
    let response = ui.interact(Rect::from_center_size(at, size), ui.scope_id().with(("header", heads)), Sense::click());
    response.widget_info(|| WidgetInfo::labeled(egui::Role::Button, true, &name));
    let visuals = ui.visuals();
    let color = if response.hovered() { visuals.strong_text_color() } else { visuals.text_color() };
    ui.painter().text(at, Align2::CENTER_CENTER, number, FontId::proportional(12.0), color);
    if response.clicked() && ui.input(|input| input.modifiers.command) {
        actions.push(Action::ToggleZero(vec![heads]));
    }
    response.context_menu(|ui| edits::menu(ui, &[heads], &shown.menu(), actions));
    response.on_hover_text(format!("{name}: right-click for what can be done to them"));
}
