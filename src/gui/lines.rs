//! The two-column picture: tokens on the left attend to tokens on the right, by lines of their weight.

use std::sync::Arc;

use egui::{
    Align2, Color32, FontId, Pos2, Rect, Response, ScrollArea, Sense, Slider, Stroke, Ui, WidgetInfo, pos2, vec2,
};

use super::action::Action;
use super::lang::tr;
use super::marks;
use super::notes::reading_notes;
use super::pins::Pin;
use super::words::Word;
use crate::figure::unit_labels;
use crate::metrics::{Frame, read_view, upper};
use crate::run::{HeadId, Run, ViewSpec};

/// The picture with what it remembers between frames.
pub struct Lines {
    drawn: Option<Drawn>,
    threshold: f32,
}

impl Default for Lines {
    fn default() -> Self {
        Self { drawn: None, threshold: 0.05 }
    }
}

/// What was worked out for a run, the heads and the threshold.
struct Drawn {
    run: Arc<Run>,
    view: ViewSpec,
    heads: Vec<HeadId>,
    threshold: f32,
    frame: Frame,
    rows: Vec<String>,
    columns: Vec<String>,
    /// The weakest first, so that the strongest lie on top.
    lines: Vec<Line>,
    /// How many are above the threshold, drawn or not.
    all: usize,
    /// The weight of the widest line.
    upper: f32,
}

struct Line {
    row: usize,
    column: usize,
    /// Its place among the heads.
    head: usize,
    weight: f32,
}

const ROW: f32 = 20.0;
const FONT: f32 = 14.0;
/// More lines than these would neither be told apart nor drawn in time: the strongest are drawn.
const MOST: usize = 3000;

impl Lines {
    pub fn show(
        &mut self,
        ui: &mut Ui,
        run: &Arc<Run>,
        view: &ViewSpec,
        heads: &[HeadId],
        pin: Option<&Pin>,
        actions: &mut Vec<Action>,
    ) {
        let shown = &heads[..heads.len().min(marks::HEADS.len())];
        ui.horizontal_wrapped(|ui| {
            let title = ui.label(tr!("Threshold")).on_hover_text(tr!("Lines of smaller weights are not drawn"));
            ui.add(Slider::new(&mut self.threshold, 0.0..=1.0).step_by(0.01)).labelled_by(title.id);
            for (number, head) in shown.iter().enumerate() {
                let (rect, _) = ui.allocate_exact_size(vec2(16.0, 12.0), Sense::hover());
                ui.painter().rect_filled(rect, 2.0, ink(ui, number));
                ui.label(head.to_string());
            }
            if heads.len() > shown.len() {
                ui.label(tr!("the first %{a} of %{b} heads", a = shown.len(), b = heads.len()));
            }
        });
        let known = self.drawn.as_ref().is_some_and(|drawn| drawn.is_of(run, view, shown, self.threshold));
        if !known {
            self.drawn = Some(Drawn::of(run, view, shown, self.threshold));
        }
        let Some(drawn) = &self.drawn else { return };
        let mut notes = reading_notes(&ViewSpec { scale: Default::default(), ..view.clone() });
        if drawn.all > drawn.lines.len() {
            notes.push(tr!("the %{a} strongest of %{b} lines", a = drawn.lines.len(), b = drawn.all));
        }
        if drawn.lines.iter().any(|line| !line.weight.is_finite()) {
            notes.push(tr!("magenta: weights that are infinite or none").to_owned());
        }
        if !notes.is_empty() {
            ui.small(notes.join("; "));
        }
        drawn.show(ui, pin, actions);
    }
}

/// A head's colour, by its place among those shown.
fn ink(ui: &Ui, number: usize) -> Color32 {
    let color = marks::HEADS[number % marks::HEADS.len()];
    if ui.visuals().dark_mode { color.lerp_to_gamma(Color32::WHITE, 0.25) } else { color }
}

impl Drawn {
    fn of(run: &Arc<Run>, view: &ViewSpec, heads: &[HeadId], threshold: f32) -> Self {
        let frame = Frame::of(&run.input, view.reading);
        let mut lines = Vec::new();
        for (head, id) in heads.iter().enumerate() {
            let Ok(map) = run.attention.head(*id) else { continue };
            let map = frame.read(map);
            let strong =
                map.indexed_iter().filter(|(_, weight)| !weight.is_finite() || **weight >= threshold.max(1e-4));
            lines.extend(strong.map(|((row, column), &weight)| Line { row, column, head, weight }));
        }
        let all = lines.len();
        let view_upper = |head: &HeadId| {
            let view = ViewSpec { head: *head, pooled: None, ..view.clone() };
            let map = read_view(&run.attention, &frame, &view).ok()?;
            Some(upper(&run.attention, &frame, &view, map.view()))
        };
        let upper = heads.iter().filter_map(view_upper).fold(f32::MIN_POSITIVE, f32::max);
        lines.sort_by(|a, b| a.weight.total_cmp(&b.weight));
        lines.drain(..all.saturating_sub(MOST));
        Self {
            rows: unit_labels(&run.input, &frame.rows),
            columns: unit_labels(&run.input, &frame.columns),
            run: run.clone(),
            view: view.clone(),
            heads: heads.to_vec(),
            threshold,
            frame,
            lines,
            all,
            upper,
        }
    }

    fn is_of(&self, run: &Arc<Run>, view: &ViewSpec, heads: &[HeadId], threshold: f32) -> bool {
        Arc::ptr_eq(&self.run, run) && self.view == *view && self.heads == heads && self.threshold == threshold
    }

    fn show(&self, ui: &mut Ui, pin: Option<&Pin>, actions: &mut Vec<Action>) {
        let font = FontId::proportional(FONT);
        let widest = |labels: &[String]| {
            marks::widest(ui.painter(), labels.iter().map(String::as_str), &font).clamp(90.0, 160.0)
        };
        let (left, right) = (widest(&self.rows), widest(&self.columns));
        let (pinned_row, pinned_column) = Pin::in_frame(pin, &self.frame);
        ScrollArea::vertical().id_salt("lines").auto_shrink([false, false]).show(ui, |ui| {
            let count = self.rows.len().max(self.columns.len()) as f32;
            // Columns stay near enough to each other that lines can be followed.
            let width = ui.available_width().min(left + right + 460.0);
            let (area, _) = ui.allocate_exact_size(vec2(width, count * ROW + 24.0), Sense::hover());
            let quiet = ui.visuals().weak_text_color();
            let head = |ui: &Ui, x: f32, align: Align2, text: &str| {
                ui.painter().text(pos2(x, area.top() + 8.0), align, text, FontId::proportional(12.0), quiet);
            };
            let (from, to) = (area.left() + left + 10.0, area.right() - right - 10.0);
            head(ui, from, Align2::RIGHT_CENTER, tr!("query, attends"));
            head(ui, to, Align2::LEFT_CENTER, tr!("key"));
            let y = |at: usize| area.top() + 24.0 + (at as f32 + 0.5) * ROW;
            let mut over = (None, None);
            for (row, label) in self.rows.iter().enumerate() {
                let rect = Rect::from_center_size(pos2(from - 4.0 - left / 2.0, y(row)), vec2(left + 8.0, ROW));
                let response =
                    token(ui, rect, (tr!("query"), row), label, Align2::RIGHT_CENTER, pinned_row == Some(row));
                if response.hovered() {
                    over.0 = Some(row);
                }
                pinned(&response, Pin::Query(self.frame.rows[row].clone()), actions);
            }
            for (column, label) in self.columns.iter().enumerate() {
                let rect = Rect::from_center_size(pos2(to + 4.0 + right / 2.0, y(column)), vec2(right + 8.0, ROW));
                let mark = pinned_column == Some(column);
                let response = token(ui, rect, (tr!("key"), column), label, Align2::LEFT_CENTER, mark);
                if response.hovered() {
                    over.1 = Some(column);
                }
                pinned(&response, Pin::Key(self.frame.columns[column].clone()), actions);
            }
            // The token under the pointer comes before the one that is pinned.
            let alone = if over == (None, None) { (pinned_row, pinned_column) } else { over };
            self.draw(ui, alone, |row| pos2(from, y(row)), |column| pos2(to, y(column)));
        });
    }

    fn draw(
        &self,
        ui: &Ui,
        (row, column): (Option<usize>, Option<usize>),
        start: impl Fn(usize) -> Pos2,
        end: impl Fn(usize) -> Pos2,
    ) {
        let clip = ui.clip_rect();
        for line in &self.lines {
            let alone = row.is_none_or(|row| row == line.row) && column.is_none_or(|column| column == line.column);
            let ends = [start(line.row), end(line.column)];
            let seen = Rect::from_two_pos(ends[0], ends[1]).intersects(clip);
            if alone && seen {
                let known = line.weight.is_finite();
                let share = if known { (line.weight / self.upper).min(1.0) } else { 0.5 };
                let color = if known { ink(ui, line.head) } else { marks::not_finite() };
                let color = color.gamma_multiply(0.15 + 0.85 * share);
                ui.painter().line_segment(ends, Stroke::new(0.6 + 3.4 * share, color));
            }
        }
    }
}

/// A token that can be pinned.
fn token(ui: &Ui, rect: Rect, id: (&str, usize), label: &str, align: Align2, is_pinned: bool) -> Response {
    let response = ui.interact(rect, ui.scope_id().with(id), Sense::click());
    let name = tr!("%{a} %{b}: %{label}", a = id.0, b = id.1, label = label);
    response.widget_info(|| WidgetInfo::selected(egui::Role::Button, true, is_pinned, &name));
    if ui.is_rect_visible(rect) {
        let visuals = ui.visuals();
        let color = match (is_pinned, response.hovered()) {
            (true, _) => marks::pin_ink(ui),
            (_, true) => visuals.strong_text_color(),
            _ => visuals.text_color(),
        };
        let text = marks::cut(ui.painter(), label, &FontId::proportional(FONT), rect.width() - 8.0);
        let at = if align == Align2::RIGHT_CENTER { rect.right_center() } else { rect.left_center() };
        let inner = if align == Align2::RIGHT_CENTER { vec2(-4.0, 0.0) } else { vec2(4.0, 0.0) };
        Word::new(ui.painter(), &text, &FontId::proportional(FONT)).draw(ui.painter(), at + inner, align, color);
    }
    response
}

fn pinned(response: &Response, pin: Pin, actions: &mut Vec<Action>) {
    if response.clicked() {
        actions.push(Action::PinToken(pin));
    }
}
