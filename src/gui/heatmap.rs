//! One head, large: cells, token labels that thin out, a cross-hair, zoom and pan, a colour bar.

use std::sync::Arc;

use egui::{
    Align2, Color32, ColorImage, FontId, Pos2, Rect, Response, Sense, Stroke, StrokeKind, TextureHandle,
    TextureOptions, Ui, WidgetInfo, pos2, vec2,
};

use super::action::Action;
use super::marks;
use super::share::{self, Copied};
use crate::figure::{Palette, axis, every_nth, paint_attention, printable, ticks, token_labels};
use crate::run::{ColorMap, Crop, Edit, HeadId, Intervention, MapRange, Run, TokenChoice, TokenRange, ViewSpec};

/// The large heatmap with what it remembers between frames.
pub struct Heatmap {
    picture: Option<Picture>,
    labels: Option<(Arc<Run>, Vec<String>)>,
    /// The part of the map in view, of 0 to 1 along both sides.
    window: Rect,
    /// The query under the pointer when the menu was opened.
    menu_row: usize,
}

struct Picture {
    key: PictureKey,
    texture: TextureHandle,
    palette: Palette,
    upper: f32,
}

#[derive(Clone)]
struct PictureKey {
    run: Arc<Run>,
    head: HeadId,
    colors: ColorMap,
    range: MapRange,
    /// The most pixels along a side.
    most: usize,
}

impl PartialEq for PictureKey {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.run, &other.run)
            && (self.head, self.colors, self.range, self.most) == (other.head, other.colors, other.range, other.most)
    }
}

const WHOLE: Rect = Rect { min: Pos2::ZERO, max: pos2(1.0, 1.0) };
const FONT: f32 = 13.0;
const AXIS_FONT: f32 = 14.0;
/// Room for an axis title.
const AXIS: f32 = 22.0;
const BAR: f32 = 16.0;
const TICKS: f32 = 50.0;
/// The widest label.
const WIDEST: f32 = 120.0;

impl Default for Heatmap {
    fn default() -> Self {
        Self { picture: None, labels: None, window: WHOLE, menu_row: 0 }
    }
}

/// Where the parts of the picture are.
struct Layout {
    plot: Rect,
    bar: Rect,
    upright: bool,
}

impl Heatmap {
    pub fn is_zoomed(&self) -> bool {
        self.window != WHOLE
    }

    pub fn reset_zoom(&mut self) {
        self.window = WHOLE;
    }

    /// The view with the part of the map that is on the screen, in whole tokens.
    pub fn as_shown(&self, run: &Run, view: &ViewSpec) -> ViewSpec {
        let tokens = run.attention.tokens();
        let part = |from: f32, to: f32| TokenRange {
            start: (from * tokens as f32 + 0.001) as usize,
            end: ((to * tokens as f32 - 0.001).ceil() as usize).min(tokens),
        };
        let crop = self.is_zoomed().then(|| Crop {
            queries: part(self.window.top(), self.window.bottom()),
            keys: part(self.window.left(), self.window.right()),
        });
        ViewSpec { crop, ..view.clone() }
    }

    pub fn show(&mut self, ui: &mut Ui, run: &Arc<Run>, view: &ViewSpec, actions: &mut Vec<Action>) {
        let space = ui.available_size().max(vec2(220.0, 160.0));
        let (area, _) = ui.allocate_exact_size(space, Sense::hover());
        let labels = self.take_labels(run);
        let layout = self.layout(ui, area, &labels);
        self.draw_cells(ui, run, view, layout.plot);

        let name = format!(
            "Attention of layer {}, head {}, {} × {} tokens",
            view.head.layer,
            view.head.head,
            labels.len(),
            labels.len()
        );
        let response = ui.interact(layout.plot, ui.scope_id().with("heatmap"), Sense::click_and_drag());
        response.widget_info(|| WidgetInfo::labeled(egui::Role::Image, true, &name));
        self.navigate(ui, &response, layout.plot, labels.len());

        let hovered = response.hover_pos().and_then(|at| self.cell_at(at, layout.plot, labels.len()));
        self.draw_labels(ui, &layout, &labels, hovered);
        draw_axis_titles(ui, area, layout.plot);
        if let Some(picture) = &self.picture {
            draw_bar(ui, layout.bar, &picture.palette, picture.upper);
        }
        if let Some(cell) = hovered {
            self.draw_cross_hair(ui, layout.plot, labels.len(), cell);
        }
        if response.clicked()
            && ui.input(|input| input.modifiers.alt)
            && let Some((query, key)) = hovered
        {
            let (query, key) = (TokenChoice::One(query), TokenChoice::One(key));
            actions.push(Action::ToggleCut(Edit { heads: view.head.into(), what: Intervention::Cut { query, key } }));
        }
        if response.secondary_clicked()
            && let Some((query, _)) = hovered
        {
            self.menu_row = query;
        }
        let entries = [Copied::Picture, Copied::Row(self.menu_row), Copied::Command];
        let as_shown = self.as_shown(run, view);
        response.context_menu(|ui| share::menu(ui, &as_shown, &entries, actions));
        if let Some(text) = hovered.and_then(|cell| weight_at(run, view, &labels, cell)) {
            response.on_hover_text_at_pointer(text);
        }
        self.labels = Some((run.clone(), labels));
    }

    /// The labels of the run, kept from the last frame where it is the same run.
    fn take_labels(&mut self, run: &Arc<Run>) -> Vec<String> {
        match self.labels.take() {
            Some((of, labels)) if Arc::ptr_eq(&of, run) => labels,
            _ => token_labels(&run.input),
        }
    }

    fn layout(&self, ui: &Ui, area: Rect, labels: &[String]) -> Layout {
        let font = FontId::proportional(FONT);
        let line = line_height(ui);
        let shown = self.shown(labels.len(), area.height(), line).map(|token| labels[token].as_str());
        let longest = marks::widest(ui.painter(), shown, &font).min(WIDEST);
        let left = area.left() + AXIS + longest + 8.0;
        let right = area.right() - BAR - TICKS - AXIS - 14.0;
        let cells = labels.len().max(1) as f32 * self.window.width();
        let upright = longest + 8.0 > (right - left) / cells;
        let under = if upright { longest } else { line };
        let bottom = area.bottom() - AXIS - under - 8.0;
        let plot = Rect::from_min_max(
            pos2(left, area.top() + 4.0),
            pos2(right.max(left + 40.0), bottom.max(area.top() + 44.0)),
        );
        let bar = Rect::from_min_size(pos2(plot.right() + 14.0, plot.top()), vec2(BAR, plot.height()));
        Layout { plot, bar, upright }
    }

    /// The tokens that get a label along a side of so many points, each label needing `line` of them.
    fn shown(&self, tokens: usize, side: f32, line: f32) -> impl Iterator<Item = usize> + use<> {
        let (from, to) = (self.window.top(), self.window.bottom());
        shown(tokens, from, to, side, line)
    }

    fn draw_cells(&mut self, ui: &Ui, run: &Arc<Run>, view: &ViewSpec, plot: Rect) {
        let pixels = plot.size().min_elem() * ui.pixels_per_point() / self.window.width();
        // In steps, so that resizing and zooming do not paint anew for each pixel; beyond 4096 cells along a side
        // neighbours are pooled at any zoom.
        let most = ((pixels / 128.0) as usize * 128).clamp(128, 4096);
        let most = if most >= run.attention.tokens() { usize::MAX } else { most };
        let key = PictureKey { run: run.clone(), head: view.head, colors: view.colors, range: view.range, most };
        if self.picture.as_ref().is_none_or(|picture| picture.key != key) {
            self.paint(ui, key);
        }
        let Some(picture) = &self.picture else { return };
        ui.painter().with_clip_rect(plot).image(picture.texture.id(), plot, self.window, Color32::WHITE);
    }

    fn paint(&mut self, ui: &Ui, key: PictureKey) {
        let maps = &key.run.attention;
        let (Ok(map), Ok(upper)) = (maps.head(key.head), key.range.upper(maps, key.head)) else { return };
        let palette = Palette::new(key.colors);
        let cells = paint_attention(map, upper, &palette, key.most);
        let image = ColorImage::from_rgb([cells.width, cells.height], &cells.rgb);
        let texture = match self.picture.take() {
            Some(Picture { mut texture, .. }) => {
                texture.set(image, TextureOptions::NEAREST);
                texture
            }
            None => ui.ctx().load_texture("heatmap", image, TextureOptions::NEAREST),
        };
        self.picture = Some(Picture { key, texture, palette, upper });
    }

    fn navigate(&mut self, ui: &Ui, response: &Response, plot: Rect, tokens: usize) {
        if response.double_clicked() {
            self.reset_zoom();
            return;
        }
        if response.dragged() {
            let moved = response.drag_delta() / plot.size() * self.window.size();
            self.window = self.window.translate(-moved);
        }
        if let Some(pointer) = response.hover_pos() {
            let (scrolled, pinched) = ui.input(|input| (input.smooth_scroll_delta().y, input.zoom_delta()));
            let factor = (scrolled / 240.0).exp() * pinched;
            if factor != 1.0 {
                // At least four cells stay in view.
                let least = (4.0 / tokens.max(4) as f32).min(1.0);
                let side = (self.window.width() / factor).clamp(least, 1.0);
                let at = (pointer - plot.min) / plot.size();
                let fixed = self.window.min + at * self.window.size();
                self.window = Rect::from_min_size(fixed - at * side, vec2(side, side));
            }
        }
        let room = vec2(1.0, 1.0) - self.window.size();
        let corner = self.window.min.to_vec2().clamp(egui::Vec2::ZERO, room.max(egui::Vec2::ZERO));
        self.window = Rect::from_min_size(corner.to_pos2(), self.window.size());
    }

    fn cell_at(&self, at: Pos2, plot: Rect, tokens: usize) -> Option<(usize, usize)> {
        let part = self.window.min + (at - plot.min) / plot.size() * self.window.size();
        let token = |share: f32| ((share * tokens as f32) as usize).min(tokens.saturating_sub(1));
        (tokens > 0 && plot.contains(at)).then(|| (token(part.y), token(part.x)))
    }

    /// The place of a cell on the screen.
    fn cell_rect(&self, plot: Rect, tokens: usize, (query, key): (usize, usize)) -> Rect {
        let place = |token: usize| token as f32 / tokens.max(1) as f32;
        let at = |x: f32, y: f32| plot.min + (pos2(x, y) - self.window.min) / self.window.size() * plot.size();
        Rect::from_min_max(at(place(key), place(query)), at(place(key + 1), place(query + 1)))
    }

    fn draw_labels(&self, ui: &Ui, layout: &Layout, labels: &[String], hovered: Option<(usize, usize)>) {
        let plot = layout.plot;
        let painter = ui.painter();
        let font = FontId::proportional(FONT);
        let line = line_height(ui);
        let (quiet, strong) = (ui.visuals().text_color(), ui.visuals().strong_text_color());
        let color = |on: bool| if on { strong } else { quiet };
        for token in shown(labels.len(), self.window.top(), self.window.bottom(), plot.height(), line) {
            let y = self.cell_rect(plot, labels.len(), (token, 0)).center().y;
            if plot.y_range().contains(y) {
                let text = marks::cut(painter, &labels[token], &font, WIDEST);
                let on = hovered.is_some_and(|(query, _)| query == token);
                painter.text(pos2(plot.left() - 6.0, y), Align2::RIGHT_CENTER, text, font.clone(), color(on));
            }
        }
        let needed = if layout.upright { line } else { 0.0 };
        for token in shown(labels.len(), self.window.left(), self.window.right(), plot.width(), needed) {
            let x = self.cell_rect(plot, labels.len(), (0, token)).center().x;
            if plot.x_range().contains(x) {
                let text = marks::cut(painter, &labels[token], &font, WIDEST);
                let color = color(hovered.is_some_and(|(_, key)| key == token));
                let at = pos2(x, plot.bottom() + 6.0);
                if layout.upright {
                    marks::upright_to(painter, at, &text, font.clone(), color);
                } else {
                    painter.text(at, Align2::CENTER_TOP, text, font.clone(), color);
                }
            }
        }
    }

    fn draw_cross_hair(&self, ui: &Ui, plot: Rect, tokens: usize, cell: (usize, usize)) {
        let painter = ui.painter().with_clip_rect(plot.expand(1.0));
        let rect = self.cell_rect(plot, tokens, cell);
        // Dark on light and light on dark cells alike: a dark line beside a light one.
        for (width, color) in [(3.0, Color32::from_black_alpha(140)), (1.0, Color32::from_white_alpha(230))] {
            let stroke = Stroke::new(width, color);
            painter.hline(plot.left()..=rect.left(), rect.center().y, stroke);
            painter.vline(rect.center().x, rect.bottom()..=plot.bottom(), stroke);
            painter.rect_stroke(rect, 0.0, stroke, StrokeKind::Outside);
        }
    }
}

fn line_height(ui: &Ui) -> f32 {
    ui.painter().layout_no_wrap("[CLS]".into(), FontId::proportional(FONT), Color32::WHITE).size().y
}

/// Every n-th token of those in view, counted from the first token of the text so that labels stand still while the
/// picture is moved.
fn shown(tokens: usize, from: f32, to: f32, side: f32, needed: f32) -> impl Iterator<Item = usize> {
    let count = tokens as f32;
    let cell = side / ((to - from) * count).max(1e-6);
    let step = every_nth(cell, needed);
    let first = ((from * count) as usize).next_multiple_of(step.min(tokens.max(1)));
    let last = ((to * count).ceil() as usize).min(tokens);
    (first..last).step_by(step)
}

/// “it → animal: 0.1234”
fn weight_at(run: &Run, view: &ViewSpec, labels: &[String], (query, key): (usize, usize)) -> Option<String> {
    let map = run.attention.head(view.head).ok()?;
    let weight = *map.get((query, key))?;
    if run.model.pruned.contains(&view.head) {
        return Some("this head was pruned from the model".to_owned());
    }
    if map.row(query).iter().all(|weight| *weight == 0.0) {
        return Some(format!("{} attends to nothing: all its edges are cut", labels.get(query)?));
    }
    let digits = if weight > 0.0 && weight < 0.001 { format!("{weight:.2e}") } else { format!("{weight:.4}") };
    let tokens = [run.input.tokens.get(query)?, run.input.tokens.get(key)?];
    let spelled = if tokens.iter().any(|token| token.shown.as_ref().is_some_and(|shown| *shown != token.piece)) {
        format!("\npieces {} → {}", printable(&tokens[0].piece), printable(&tokens[1].piece))
    } else {
        String::new()
    };
    Some(format!("{} → {}: {digits}{spelled}", labels.get(query)?, labels.get(key)?))
}

fn draw_axis_titles(ui: &Ui, area: Rect, plot: Rect) {
    let color = ui.visuals().text_color();
    let font = FontId::proportional(AXIS_FONT);
    let under = pos2(plot.center().x, area.bottom() - AXIS / 2.0);
    ui.painter().text(under, Align2::CENTER_CENTER, axis::KEY, font.clone(), color);
    marks::upright_at(
        ui.painter(),
        pos2(area.left() + AXIS / 2.0 - 2.0, plot.center().y),
        axis::QUERY,
        font.clone(),
        color,
    );
    marks::upright_at(ui.painter(), pos2(area.right() - AXIS / 2.0, plot.center().y), axis::WEIGHT, font, color);
}

fn draw_bar(ui: &Ui, bar: Rect, palette: &Palette, upper: f32) {
    let painter = ui.painter();
    marks::color_bar(painter, bar, |share| {
        let [r, g, b] = palette.at(share);
        Color32::from_rgb(r, g, b)
    });
    let color = ui.visuals().text_color();
    for (value, label) in ticks(upper) {
        let y = bar.bottom() - value / upper * bar.height();
        painter.hline(bar.right()..=bar.right() + 4.0, y, Stroke::new(1.0, color));
        marks::beside(painter, pos2(bar.right() + 7.0, y), &label, FontId::proportional(FONT), color);
    }
}
