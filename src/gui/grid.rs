//! All heads at once: layers down, heads across, a thumbnail each.

use std::collections::BTreeSet;
use std::sync::Arc;

use egui::{
    Align2, Color32, FontId, Pos2, Rect, Response, Sense, Stroke, StrokeKind, Ui, Vec2, WidgetInfo, pos2, vec2,
};
use ndarray::Array2;

use super::action::{Action, patterns};
use super::edits::{self, Offer};
use super::lang::tr;
use super::marks;
use super::pins::Pin;
use super::share::{self, Copied};
use super::surgery::Surgery;
use super::thumbnails::Thumbnails;
use crate::figure::{NOT_FINITE, NOT_FINITE_NAME, Palette};
use crate::metrics::Frame;
use crate::run::{HeadId, HeadPattern, Run, ViewSpec, greatest_finite};

/// The grid with what it remembers between frames.
#[derive(Default)]
pub struct Grid {
    pub thumbnails: Thumbnails,
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
    /// A number for each head, which takes the place of the maps.
    pub numbers: Option<Numbers<'a>>,
    /// The run that was pinned, from which heads can be patched.
    pub pinned: Option<&'a Run>,
    /// The head that was pinned with it.
    pub pinned_head: Option<HeadId>,
    /// The token that is pinned.
    pub held: Option<&'a Pin>,
}

/// A number for each head.
#[derive(Clone, Copy)]
pub struct Numbers<'a> {
    /// `[layer, head]`
    pub values: &'a Array2<f32>,
    /// A head's number in words.
    pub explain: &'a dyn Fn(HeadId) -> String,
    /// The sign of a number matters.
    pub signed: bool,
    /// More numbers will come: those that are none yet are left open.
    pub under_way: bool,
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
        let cell = vec2(width.min(height * 1.7), height.min(width * 1.7)).clamp(Vec2::splat(14.0), Vec2::splat(180.0));
        let size = Vec2::splat(HEADER) + cell * vec2(heads as f32, layers as f32);
        egui::ScrollArea::both().id_salt("grid").auto_shrink([false, true]).show(ui, |ui| {
            let (area, _) = ui.allocate_exact_size(size, Sense::hover());
            let origin = area.min + Vec2::splat(HEADER);
            let scale = shown
                .numbers
                .map(|numbers| EffectScale::of(numbers.values, Palette::on(view.colors, marks::ground(ui))));
            // Thumbnails that are not shown are not painted.
            if scale.is_none() {
                let side = (cell.min_elem() - GAP) * ui.pixels_per_point();
                actions.extend(self.thumbnails.wanted(ui, run, view, side).map(Action::PaintThumbnails));
            }
            let ticks = shown
                .held
                .filter(|_| scale.is_none())
                .map(|held| Ticks::of(held, &Frame::of(&run.input, view.reading)));
            headers(ui, area, cell, shown, actions);
            let lacks = match shown.numbers {
                None => self.thumbnails.lacks,
                Some(numbers) => !numbers.under_way && numbers.values.iter().any(|number| !number.is_finite()),
            };
            if lacks {
                let swatch = Rect::from_center_size(area.min + vec2(HEADER + 6.0, 8.0), Vec2::splat(10.0));
                marks::not_finite_legend(ui, swatch, NOT_FINITE_NAME);
            }
            for head in HeadId::all(layers, heads) {
                let corner = origin + vec2(head.head as f32, head.layer as f32) * cell;
                let rect = Rect::from_min_size(corner, cell - Vec2::splat(GAP));
                match shown.numbers.zip(scale.as_ref()) {
                    None => {
                        self.thumbnails.draw(ui, rect, head);
                        ticks.iter().for_each(|ticks| ticks.draw(ui, rect));
                    }
                    Some((numbers, scale)) => {
                        draw_number(ui, rect, numbers.values[(head.layer, head.head)], numbers, scale);
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
}

/// Where a pinned token stands along the sides of a map, from 0 to 1.
struct Ticks {
    row: Option<f32>,
    column: Option<f32>,
}

impl Ticks {
    fn of(held: &Pin, frame: &Frame) -> Self {
        let (row, column) = Pin::in_frame(Some(held), frame);
        let share = |at: usize, of: usize| (at as f32 + 0.5) / of.max(1) as f32;
        Self {
            row: row.map(|row| share(row, frame.rows.len())),
            column: column.map(|column| share(column, frame.columns.len())),
        }
    }

    /// A tick at the side where a label would stand.
    fn draw(&self, ui: &Ui, rect: Rect) {
        let (length, stroke) = (5.0, Stroke::new(2.0, marks::PIN));
        if let Some(share) = self.row {
            ui.painter().hline(rect.left()..=rect.left() + length, rect.top() + share * rect.height(), stroke);
        }
        if let Some(share) = self.column {
            ui.painter().vline(rect.left() + share * rect.width(), rect.bottom() - length..=rect.bottom(), stroke);
        }
    }
}

/// How numbers become colours: the largest of them, whatever its sign, takes the last one.
struct EffectScale {
    palette: Palette,
    most: f32,
}

impl EffectScale {
    fn of(effects: &Array2<f32>, palette: Palette) -> Self {
        let most = greatest_finite(effects.iter().map(|effect| effect.abs())).max(f32::MIN_POSITIVE);
        Self { palette, most }
    }
}

/// A head's number as a colour by its size and, where there is room, in digits.
fn draw_number(ui: &Ui, rect: Rect, effect: f32, numbers: Numbers<'_>, scale: &EffectScale) {
    if effect.is_nan() && numbers.under_way {
        // An experiment under way has not come to this layer.
        ui.painter().rect_stroke(rect, 0.0, Stroke::new(1.0, ui.visuals().weak_text_color()), StrokeKind::Inside);
        return;
    }
    let [r, g, b] = match effect.is_finite() {
        true => scale.palette.at(effect.abs() / scale.most),
        false => NOT_FINITE,
    };
    ui.painter().rect_filled(rect, 0.0, Color32::from_rgb(r, g, b));
    if rect.width() >= 34.0 {
        let ink = marks::ink_on([r, g, b]);
        let text = if numbers.signed { format!("{effect:+.3}") } else { format!("{effect:.3}") };
        ui.painter().text(rect.center(), Align2::CENTER_CENTER, text, FontId::proportional(11.0), ink);
    }
}

fn thumbnail(ui: &Ui, rect: Rect, head: HeadId, shown: &Shown<'_>) -> Response {
    let response = ui.interact(rect, ui.scope_id().with(("thumbnail", head)), Sense::click());
    let chosen = shown.view.head == head;
    let selected = shown.selection.contains(&head);
    let (zero, touched) = (shown.surgery.is_zero(head), shown.surgery.touches(head));
    let name = tr!("Layer %{a}, head %{b}", a = head.layer, b = head.head);
    let pinned = if shown.pinned_head == Some(head) { tr!(", pinned") } else { "" };
    let state = match (zero, touched) {
        _ if shown.run.model.pruned.contains(&head) => tr!(", pruned"),
        (true, _) => tr!(", off"),
        (false, true) => tr!(", edited"),
        (false, false) => "",
    };
    response.widget_info(|| {
        WidgetInfo::selected(egui::Role::Button, true, chosen || selected, format!("{name}{state}{pinned}"))
    });
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
    // A pinned head has a pin.
    if shown.pinned_head == Some(head) {
        let center = rect.right_bottom() - vec2(9.0, 11.0);
        painter.line_segment([center, center + vec2(0.0, 9.0)], Stroke::new(2.0, marks::PIN));
        painter.circle(center, 4.5, marks::PIN, Stroke::new(1.5, Color32::WHITE));
    }
    // The chosen head is known by its double frame.
    if chosen {
        painter.rect_stroke(rect, 1.0, Stroke::new(3.0, visuals.strong_text_color()), StrokeKind::Outside);
        painter.rect_stroke(rect, 1.0, Stroke::new(1.5, visuals.selection.bg_fill), StrokeKind::Outside);
    } else if response.hovered() || response.has_focus() {
        painter.rect_stroke(rect, 1.0, Stroke::new(1.5, visuals.text_color()), StrokeKind::Outside);
    }
    let effect = shown.numbers.map_or(String::new(), |numbers| format!("\n{}", (numbers.explain)(head)));
    let moved = match shown.movement {
        Some(_) => tr!(
            "\nmoved %{moved} nats from the plain model (Jensen–Shannon, at most 0.6931)",
            moved = format!("{:.4}", moved)
        ),
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
    ui.painter().text(across, Align2::CENTER_CENTER, tr!("Head"), font.clone(), quiet);
    let down = area.min + vec2(8.0, HEADER + layers as f32 * cell.y / 2.0);
    marks::upright_at(ui.painter(), down, tr!("Layer"), font, quiet);
}

fn header(ui: &Ui, at: Pos2, size: Vec2, heads: HeadPattern, shown: &Shown<'_>, actions: &mut Vec<Action>) {
    let (number, name) = match (heads.layer, heads.head) {
        (Some(layer), _) => (layer, tr!("All heads of layer %{layer}", layer = layer)),
        (None, head) => (head.unwrap_or(0), tr!("Head %{a} of every layer", a = head.unwrap_or(0))),
    };
    let response = ui.interact(Rect::from_center_size(at, size), ui.scope_id().with(("header", heads)), Sense::click());
    response.widget_info(|| WidgetInfo::labeled(egui::Role::Button, true, &name));
    let visuals = ui.visuals();
    let color = if response.hovered() { visuals.strong_text_color() } else { visuals.text_color() };
    ui.painter().text(at, Align2::CENTER_CENTER, number, FontId::proportional(12.0), color);
    if response.clicked() {
        let held = ui.input(|input| input.modifiers);
        actions.push(match held.command {
            true => Action::ToggleZero(vec![heads]),
            false => Action::SelectAll(heads, held.shift),
        });
    }
    response.context_menu(|ui| edits::menu(ui, &[heads], &shown.menu(), actions));
    response.on_hover_text(tr!(
        "%{name}: a click selects them, a right-click offers what can be done to them",
        name = name
    ));
}
