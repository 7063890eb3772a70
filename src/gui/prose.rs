//! The text itself, wrapped as text, each token coloured by its weight for the token that is pinned.

use std::sync::Arc;

use egui::{Align2, Color32, FontId, Rect, ScrollArea, Sense, Stroke, StrokeKind, Ui, WidgetInfo, pos2, vec2};
use ndarray::{ArrayView1, Axis};

use super::action::Action;
use super::lang::tr;
use super::marks;
use super::notes::{reading_notes, view_name};
use super::pins::Pin;
use super::read_map::ReadMap;
use super::words::{Word, runs_leftward};
use crate::figure::{Rgb, Tint};
use crate::run::{Reading, Role, Run, Segment, Segments, ViewSpec, greatest_finite};

/// The view with what it remembers between frames.
#[derive(Default)]
pub struct Prose {
    read: Option<(ViewSpec, ReadMap)>,
}

const FONT: f32 = 17.0;
const LINE: f32 = 30.0;

/// What colours tell.
struct Colored {
    sentence: String,
    /// One value a column.
    values: Vec<f32>,
    colors: Vec<Rgb>,
    tint: Tint,
}

impl Prose {
    pub fn show(&mut self, ui: &mut Ui, run: &Arc<Run>, view: &ViewSpec, pin: Option<&Pin>, actions: &mut Vec<Action>) {
        // All of the text is shown, whatever part of the map is: what is hidden there has no weight here.
        let reading = Reading { segments: Segments::All, ..view.reading };
        let whole = ViewSpec { reading, ..view.clone() };
        let ground = marks::ground(ui);
        if self.read.as_ref().is_none_or(|(of, read)| *of != whole || !read.is_of(run, &whole, ground)) {
            self.read = ReadMap::of(run, &whole, ground).map(|read| (whole.clone(), read));
        }
        let Some((_, read)) = &self.read else { return };
        let colored = colored(read, &run.as_drawn(&whole), pin);
        ui.label(&colored.sentence);
        let notes = reading_notes(run, &whole);
        if !notes.is_empty() {
            ui.small(notes.join("; "));
        }
        bar(ui, &colored.tint);
        ui.add_space(6.0);
        ScrollArea::vertical().id_salt("text").auto_shrink([false, false]).show(ui, |ui| {
            for segment in [Segment::A, Segment::B] {
                if run.input.tokens.iter().any(|token| token.segment == segment) {
                    paragraph(ui, run, read, segment, &colored, pin, actions);
                    ui.add_space(10.0);
                }
            }
        });
    }
}

fn colored(read: &ReadMap, view: &ViewSpec, pin: Option<&Pin>) -> Colored {
    let heads = view_name(view);
    let (row, column) = Pin::in_frame(pin, &read.frame);
    let (sentence, values) = match (row, column) {
        (Some(row), _) => {
            (tr!("What “%{a}” attends to, in %{heads}", a = read.rows[row], heads = heads), read.map.row(row).to_vec())
        }
        (None, Some(column)) => (
            tr!("What attends to “%{a}”, in %{heads}", a = read.columns[column], heads = heads),
            read.map.column(column).to_vec(),
        ),
        (None, None) => {
            let n = read.map.nrows().max(1) as f32;
            let mean = read.map.columns().into_iter().map(|column| column.sum() / n).collect();
            (
                tr!(
                    "How much each token is attended to, mean over queries, in %{heads}: a click pins a token",
                    heads = heads
                ),
                mean,
            )
        }
    };
    // A pinned token's colours are those of the map; means have their own.
    let tint = if row.is_some() || column.is_some() {
        read.tint.clone()
    } else {
        let most = greatest_finite(values.iter().copied()).max(f32::MIN_POSITIVE);
        Tint::new(view.colors, most, view.scale).over(&[ArrayView1::from(&values).insert_axis(Axis(0))]).on(read.ground)
    };
    // Of a key's column, each value stands in a row of its own.
    let row_of = |at: usize| match (row, column) {
        (Some(row), _) => row,
        (None, Some(_)) => at,
        (None, None) => 0,
    };
    let colors = values.iter().enumerate().map(|(at, value)| tint.at(row_of(at), *value)).collect();
    Colored { sentence, values, colors, tint }
}

/// A colour bar that lies on its side.
fn bar(ui: &mut Ui, tint: &Tint) {
    let font = FontId::proportional(12.0);
    let (area, _) = ui.allocate_exact_size(vec2(320.0, 28.0), Sense::hover());
    let bar = Rect::from_min_size(area.min + vec2(8.0, 0.0), vec2(200.0, 10.0));
    for step in 0..100 {
        let [r, g, b] = tint.on_bar(step as f32 / 99.0);
        let x = bar.left() + step as f32 * 2.0;
        ui.painter().rect_filled(
            Rect::from_min_size(pos2(x, bar.top()), vec2(2.5, 10.0)),
            0.0,
            Color32::from_rgb(r, g, b),
        );
    }
    if let Some(name) = tint.legend() {
        let swatch = Rect::from_min_size(bar.right_top() + vec2(24.0, 0.0), vec2(10.0, 10.0));
        marks::not_finite_legend(ui, swatch, name);
    }
    let mut free = f32::NEG_INFINITY;
    for (share, label) in tint.ticks() {
        let x = bar.left() + share * bar.width();
        let galley = ui.painter().layout_no_wrap(label, font.clone(), ui.visuals().text_color());
        let left = x - galley.size().x / 2.0;
        if left > free {
            free = left + galley.size().x + 6.0;
            ui.painter().galley(pos2(left, bar.bottom() + 2.0), galley, Color32::WHITE);
        }
    }
}

/// One text of the input, wrapped; from right to left where its script is.
fn paragraph(
    ui: &mut Ui,
    run: &Run,
    read: &ReadMap,
    segment: Segment,
    colored: &Colored,
    pin: Option<&Pin>,
    actions: &mut Vec<Action>,
) {
    let input = &run.input;
    let leftward = input.text_of(segment).is_some_and(runs_leftward);
    let width = ui.available_width();
    let origin = ui.cursor().min;
    let (mut x, mut line) = (0.0, 0);
    let (row, column) = Pin::in_frame(pin, &read.frame);
    let mut end = None;
    for (at, unit) in read.frame.columns.iter().enumerate() {
        let token = &input.tokens[unit.start];
        if token.segment != segment {
            continue;
        }
        let special = token.role != Role::Word;
        // The blanks of the text itself part its words; a marker stands apart.
        let start = token.span.map(|span| span.start);
        let gap = match (start, end) {
            (Some(start), Some(end)) => {
                if start > end {
                    6.0
                } else {
                    1.0
                }
            }
            _ => 6.0,
        };
        end = input.tokens[unit.end - 1].span.map(|span| span.end);
        let label = &read.columns[at];
        let font = FontId::proportional(if special { 12.0 } else { FONT });
        let word = Word::new(ui.painter(), label, &font);
        let box_size = vec2(word.size.x + 6.0, LINE - 6.0);
        x += gap;
        if x + box_size.x > width && x > gap {
            (x, line) = (0.0, line + 1);
        }
        let left = if leftward { width - x - box_size.x } else { x };
        let rect = Rect::from_min_size(origin + vec2(left, line as f32 * LINE), box_size);
        x += box_size.x;
        let response = ui.interact(rect, ui.scope_id().with(("token", at)), Sense::click());
        let value = colored.values.get(at).copied().unwrap_or(0.0);
        let name = format!("{label}: {value:.4}");
        let is_pinned = row.is_some_and(|row| read.frame.rows[row] == *unit) || column == Some(at);
        response.widget_info(|| WidgetInfo::selected(egui::Role::Button, true, is_pinned, &name));
        if ui.is_rect_visible(rect) {
            let [r, g, b] = colored.colors.get(at).copied().unwrap_or_else(|| colored.tint.on_bar(0.0));
            ui.painter().rect_filled(rect, 3.0, Color32::from_rgb(r, g, b));
            word.draw(ui.painter(), rect.center(), Align2::CENTER_CENTER, marks::ink_on([r, g, b]));
            if is_pinned {
                ui.painter().rect_stroke(rect, 3.0, Stroke::new(2.5, marks::PIN), StrokeKind::Outside);
            } else if response.hovered() {
                ui.painter().rect_stroke(rect, 3.0, Stroke::new(1.5, ui.visuals().text_color()), StrokeKind::Outside);
            }
        }
        if response.clicked() {
            // Of a token whose keys are looked at, another click shows its queries.
            let as_key = is_pinned && row.is_some();
            let pin = if as_key { Pin::Key(unit.clone()) } else { Pin::Query(unit.clone()) };
            actions.push(Action::PinToken(pin));
        }
        let more = if is_pinned { tr!("\nanother click turns the question round") } else { "" };
        response.on_hover_text(format!("{name}{more}"));
    }
    ui.allocate_space(vec2(width, (line + 1) as f32 * LINE));
}
