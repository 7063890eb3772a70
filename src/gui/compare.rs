//! Two maps side by side, and their difference.

use std::sync::Arc;

use egui::{Align2, ComboBox, DragValue, FontId, Rect, RichText, ScrollArea, Sense, Ui, pos2, vec2};

use super::action::Action;
use super::lang::tr;
use super::marks;
use super::matrix::{Cell, Matrix, Side};
use super::notes::{bar_title, reading_notes, view_name, with_drawn};
use super::pins::{Pin, segments};
use super::zoom::{Canvas, Zoom};
use crate::figure::{ComparisonFigure, Ground, Tint, axis, cell_shown, paint, paint_attention, printable};
use crate::metrics::Comparison;
use crate::run::{HeadId, Run, ViewSpec};

/// Whose map a side shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The run that is shown.
    Shown,
    /// The same text in the plain model.
    Plain,
    /// The run that was pinned.
    Pinned,
}

/// What one side is to show.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pick {
    pub source: Source,
    /// A head that stays; `None` follows the head that is looked at.
    pub head: Option<HeadId>,
}

/// The view with what it remembers between frames.
pub struct Compare {
    pub a: Pick,
    pub b: Pick,
    made: Option<Made>,
    canvases: [Canvas; 3],
    zoom: Zoom,
    /// The row and column of the difference under the pointer.
    pointed: Option<Cell>,
}

impl Default for Compare {
    fn default() -> Self {
        Self {
            a: Pick { source: Source::Plain, head: None },
            b: Pick { source: Source::Shown, head: None },
            made: None,
            canvases: Default::default(),
            zoom: Zoom::default(),
            pointed: None,
        }
    }
}

/// What can be compared.
#[derive(Clone, Copy)]
pub struct Offered<'a> {
    pub shown: &'a Arc<Run>,
    pub plain: Option<&'a Arc<Run>>,
    pub pinned: Option<&'a Arc<Run>>,
    pub view: &'a ViewSpec,
    /// The token that is pinned, in the run that is shown.
    pub held: Option<&'a Pin>,
}

impl Offered<'_> {
    /// The run and the view of one side; the run that is shown where the one that was picked is not there.
    fn side(&self, pick: Pick) -> (Arc<Run>, ViewSpec) {
        let run = match pick.source {
            Source::Shown => None,
            Source::Plain => self.plain,
            Source::Pinned => self.pinned,
        };
        let run = run.unwrap_or(self.shown).clone();
        let head = pick.head.unwrap_or(self.view.head);
        // Another model may have fewer heads.
        let head = head.within(run.attention.layers(), run.attention.heads()).unwrap_or_default();
        let pooled = self.view.pooled.clone().filter(|_| pick.head.is_none());
        (run, ViewSpec { head, pooled, crop: None, ..self.view.clone() })
    }
}

/// A comparison with what is drawn of it.
struct Made {
    figure: ComparisonFigure,
    found: Comparison,
    labels: [[Vec<String>; 2]; 3],
    weights: [Tint; 2],
    difference: Tint,
    ground: Ground,
}

impl Made {
    fn of(a: (Arc<Run>, ViewSpec), b: (Arc<Run>, ViewSpec), ground: Ground) -> Option<Self> {
        let found = Comparison::of((&a.0, &a.1), (&b.0, &b.1)).ok()?;
        let figure = ComparisonFigure { a, b };
        Some(Self {
            weights: figure.weights(&found).map(|tint| tint.on(ground)),
            difference: figure.difference(&found).on(ground),
            ground,
            labels: figure.labels(&found),
            figure,
            found,
        })
    }

    fn is_of(&self, a: &(Arc<Run>, ViewSpec), b: &(Arc<Run>, ViewSpec)) -> bool {
        let same = |own: &(Arc<Run>, ViewSpec), other: &(Arc<Run>, ViewSpec)| {
            Arc::ptr_eq(&own.0, &other.0) && own.1 == other.1
        };
        same(&self.figure.a, a) && same(&self.figure.b, b)
    }
}

impl Compare {
    /// The figure of what is compared now.
    pub fn figure(&self) -> Option<ComparisonFigure> {
        self.made.as_ref().map(|made| made.figure.clone())
    }

    pub fn show(&mut self, ui: &mut Ui, offered: Offered<'_>, actions: &mut Vec<Action>) {
        ui.horizontal_wrapped(|ui| {
            pick(ui, "A", &mut self.a, &offered);
            ui.separator();
            pick(ui, "B", &mut self.b, &offered);
            ui.separator();
            if ui.button(tr!("Swap")).on_hover_text(tr!("A in the place of B, and B in that of A")).clicked() {
                std::mem::swap(&mut self.a, &mut self.b);
            }
        });
        let ground = marks::ground(ui);
        let (a, b) = (offered.side(self.a), offered.side(self.b));
        if self.made.as_ref().is_none_or(|made| !made.is_of(&a, &b) || made.ground != ground) {
            self.made = Made::of(a, b, ground);
            self.canvases.iter_mut().for_each(Canvas::clear);
            self.pointed = None;
        }
        let Some(made) = &self.made else { return };
        if Arc::ptr_eq(&made.figure.a.0, &made.figure.b.0) && made.figure.a.1 == made.figure.b.1 {
            ui.label(
                tr!("Both sides are the same. Hold a head on one side and choose another in the grid; edit a head and compare with the plain model; or pin a run (P), type another text or open another model."),
            );
            return;
        }
        for note in notes(made) {
            ui.small(note);
        }
        self.draw(ui, &offered, actions);
    }

    fn draw(&mut self, ui: &mut Ui, offered: &Offered<'_>, actions: &mut Vec<Action>) {
        let Some(made) = &self.made else { return };
        let (area, _) = ui.allocate_exact_size(ui.available_size().max(vec2(300.0, 200.0)), Sense::hover());
        let places = places(area);
        let mut pointed = None;
        let maps = [&made.found.a.map, &made.found.b.map, &made.found.difference];
        let names = ["A", "B", "A − B"];
        for side in 0..3 {
            let map = maps[side];
            if map.is_empty() {
                let text =
                    if side == 2 { tr!("no word is in both") } else { tr!("nothing of this text is left to show") };
                ui.painter().text(
                    places[side].center(),
                    Align2::CENTER_CENTER,
                    text,
                    FontId::proportional(14.0),
                    ui.visuals().text_color(),
                );
                continue;
            }
            let title = match side {
                0 => format!("A: {}", describe(&made.figure.a, &made.figure.b.0)),
                1 => format!("B: {}", describe(&made.figure.b, &made.figure.a.0)),
                _ => "A − B".to_owned(),
            };
            let place = places[side];
            let font = FontId::proportional(13.0);
            let title = marks::cut(ui.painter(), &title, &font, place.width() - 8.0);
            ui.painter().text(
                place.center_top() + vec2(0.0, 8.0),
                Align2::CENTER_CENTER,
                title,
                font,
                ui.visuals().strong_text_color(),
            );
            let inner = Rect::from_min_max(place.min + vec2(0.0, 18.0), place.max);
            let tint = made.weights.get(side).unwrap_or(&made.difference);
            let run = if side == 1 { &made.figure.b.0 } else { &made.figure.a.0 };
            let [rows, columns] = &made.labels[side];
            let frame = if side == 1 { &made.found.b.frame } else { &made.found.a.frame };
            let (row_segments, column_segments) = match side {
                2 => (Vec::new(), Vec::new()),
                _ => (segments(&run.input, &frame.rows), segments(&run.input, &frame.columns)),
            };
            // A pin is a place in the text that is shown: another text has none.
            let follows = run.input.tokens == offered.shown.input.tokens && (side < 2 || made.found.same_tokens);
            let (row_pin, column_pin) = Pin::in_frame(offered.held.filter(|_| follows), frame);
            let values = if side == 2 { tr!("Difference") } else { tr!(axis::WEIGHT) };
            let bar = bar_title(values, made.figure.a.1.scale);
            let matrix = Matrix {
                name: &format!("{}, {} × {}", names[side], rows.len(), columns.len()),
                rows: Side { title: tr!(axis::QUERY), labels: rows, segments: &row_segments, pinned: row_pin },
                columns: Side {
                    title: tr!(axis::KEY),
                    labels: columns,
                    segments: &column_segments,
                    pinned: column_pin,
                },
                bar: Some((tint, &bar)),
                pointed: self.pointed.and_then(|cell| made.to_side(cell, side)),
            };
            let touched = matrix.show(ui, inner, &mut self.zoom, &mut self.canvases[side], |most| match side {
                2 => paint(map.view(), tint, most),
                _ => paint_attention(map.view(), tint, most),
            });
            if follows {
                actions.extend(touched.row.map(|row| Action::PinToken(Pin::Query(frame.rows[row].clone()))));
                let key = touched.column.map(|column| Pin::Key(frame.columns[column].clone()));
                actions.extend(key.map(Action::PinToken));
            }
            if let Some(cell) = touched.cell {
                pointed = made.shared_cell(cell, side);
                if let Some(text) = made.explain(cell, side) {
                    let (place, most) = touched.pixel.unwrap_or_default();
                    let shown = cell_shown(map.view(), tint, most, place);
                    let drawn = if shown == cell { None } else { made.explain(shown, side) };
                    touched.response.on_hover_text_at_pointer(with_drawn(text, drawn));
                }
            }
        }
        self.pointed = pointed;
        if let Some(place) = places.get(3) {
            show_rows(ui, *place, made);
        }
    }
}

impl Made {
    /// A cell of the difference as a cell of one side.
    fn to_side(&self, (row, column): Cell, side: usize) -> Option<Cell> {
        let (rows, columns) = (*self.found.rows.get(row)?, *self.found.columns.get(column)?);
        Some(match side {
            0 => (rows.0, columns.0),
            1 => (rows.1, columns.1),
            _ => (row, column),
        })
    }

    /// A cell of one side as a cell of the difference, where both sides have it.
    fn shared_cell(&self, (row, column): Cell, side: usize) -> Option<Cell> {
        let place = |pairs: &[(usize, usize)], at: usize| match side {
            0 => pairs.iter().position(|(a, _)| *a == at),
            1 => pairs.iter().position(|(_, b)| *b == at),
            _ => Some(at),
        };
        Some((place(&self.found.rows, row)?, place(&self.found.columns, column)?))
    }

    /// “it → animal: A 0.1234, B 0.0123, A − B +0.1111”
    fn explain(&self, cell: Cell, side: usize) -> Option<String> {
        let [rows, columns] = &self.labels[side];
        let edge = format!("{} → {}", rows.get(cell.0)?, columns.get(cell.1)?);
        let Some(shared) = self.shared_cell(cell, side) else {
            let own = if side == 1 { &self.found.b.map } else { &self.found.a.map };
            return Some(tr!(
                "%{edge}: %{a}, not in the other text",
                edge = edge,
                a = format!("{:.4}", own.get(cell)?)
            ));
        };
        let a = self.found.a.map.get(self.to_side(shared, 0)?)?;
        let b = self.found.b.map.get(self.to_side(shared, 1)?)?;
        Some(tr!(
            "%{edge}: A %{a}, B %{b}, A − B %{difference}",
            edge = edge,
            a = format!("{:.4}", a),
            b = format!("{:.4}", b),
            difference = format!("{:+.4}", a - b)
        ))
    }
}

/// Where the three maps go, and the list of rows: in one line where there is room for it, else two by two.
fn places(area: Rect) -> [Rect; 4] {
    let size = area.size();
    if size.x > 2.6 * size.y {
        let width = (size.x - 170.0) / 3.0;
        let part = |at: usize| Rect::from_min_size(area.min + vec2(width * at as f32, 0.0), vec2(width - 8.0, size.y));
        let list = Rect::from_min_max(pos2(area.left() + width * 3.0, area.top()), area.max);
        return [part(0), part(1), part(2), list];
    }
    let half = size / 2.0;
    let part = |x: f32, y: f32| Rect::from_min_size(area.min + vec2(x, y) * half, half - vec2(8.0, 6.0));
    [part(0.0, 0.0), part(1.0, 0.0), part(0.0, 1.0), part(1.0, 1.0)]
}

/// The divergence in total and of each row, the largest first.
fn show_rows(ui: &mut Ui, place: Rect, made: &Made) {
    let builder = egui::UiBuilder::new().max_rect(place);
    ui.scope_builder(builder, |ui| {
        let total = made
            .found
            .total()
            .map_or(tr!("no shared row").to_owned(), |total| tr!("%{total} nats", total = format!("{:.4}", total)));
        ui.label(RichText::new(tr!("Jensen–Shannon divergence: %{total}", total = total)).strong())
            .on_hover_text(tr!("Mean over rows: 0 where both sides attend alike, at most ln 2 = 0.6931"));
        let mut rows: Vec<(usize, f32)> = made.found.divergence.iter().copied().enumerate().collect();
        rows.sort_by(|a, b| b.1.total_cmp(&a.1));
        ScrollArea::vertical().id_salt("rows").auto_shrink([false, false]).show(ui, |ui| {
            for (row, value) in rows {
                ui.horizontal(|ui| {
                    let (bar, _) = ui.allocate_exact_size(vec2(60.0, 12.0), Sense::hover());
                    let filled = Rect::from_min_size(bar.min, vec2(60.0 * value / std::f32::consts::LN_2, 12.0));
                    ui.painter().rect_filled(bar, 2.0, ui.visuals().faint_bg_color);
                    ui.painter().rect_filled(filled, 2.0, marks::HEADS[1]);
                    ui.label(format!("{value:.4}"));
                    ui.label(&made.labels[2][0][row]);
                });
            }
        });
    });
}

/// “Layer 3, head 4, edited”, and what else tells it from the other side: its text, its model.
fn describe((run, view): &(Arc<Run>, ViewSpec), other: &Run) -> String {
    let text = match run.input.texts == other.input.texts {
        true => String::new(),
        false => tr!(" of “%{a}”", a = printable(&run.input.texts.a)),
    };
    let model =
        if run.model.folder == other.model.folder { String::new() } else { tr!(" in %{a}", a = run.model.name) };
    let edited = if run.edits.is_empty() { "" } else { tr!(", edited") };
    format!("{}{text}{model}{edited}", view_name(&run.as_drawn(view)))
}

/// What must be told beside the pictures.
fn notes(made: &Made) -> Vec<String> {
    let mut notes = made.figure.of_sides(|run, view| reading_notes(run, view).join("; "));
    if !made.found.same_tokens {
        let (of_a, of_b) = made.found.left_out();
        let named = |rows: &[usize], labels: &[String]| {
            let words: Vec<&str> = rows.iter().take(8).map(|row| labels[*row].as_str()).collect();
            let more = if rows.len() > 8 { tr!(" and %{a} more", a = rows.len() - 8) } else { String::new() };
            if words.is_empty() { tr!("nothing").to_owned() } else { format!("{}{more}", words.join(" ")) }
        };
        notes.push(tr!("The tokens differ: words are aligned. Only in A: %{a}. Only in B: %{b}. Divergence is over shared words, rows renormalised.", a = named(&of_a, &made.labels[0][0]), b = named(&of_b, &made.labels[1][0])));
    }
    notes
}

/// What one side shows: whose run, and which head.
fn pick(ui: &mut Ui, name: &str, pick: &mut Pick, offered: &Offered<'_>) {
    let title = ui.label(RichText::new(name).strong());
    let label = |source: Source| match source {
        Source::Shown => tr!("shown"),
        Source::Plain => tr!("plain model"),
        Source::Pinned => tr!("pinned run"),
    };
    let list =
        ComboBox::from_id_salt(("source", name)).width(90.0).selected_text(label(pick.source)).show_ui(ui, |ui| {
            ui.selectable_value(&mut pick.source, Source::Shown, label(Source::Shown));
            ui.selectable_value(&mut pick.source, Source::Plain, label(Source::Plain));
            let pinned = ui.add_enabled_ui(offered.pinned.is_some(), |ui| {
                ui.selectable_value(&mut pick.source, Source::Pinned, label(Source::Pinned));
            });
            pinned.response.on_disabled_hover_text(tr!("No run is pinned: P pins the one that is shown"));
        });
    list.response.labelled_by(title.id).on_hover_text(tr!("Which run %{name} shows", name = name));
    let mut held = pick.head.is_some();
    let hold = ui.checkbox(&mut held, tr!("hold head")).on_hover_text(tr!(
        "Keep %{name}'s head while you choose others; otherwise it is the head that is looked at",
        name = name
    ));
    if hold.changed() {
        pick.head = held.then_some(offered.view.head);
    }
    if let Some(head) = &mut pick.head {
        let (run, _) = offered.side(Pick { head: None, ..*pick });
        let (layers, heads) = (run.attention.layers().saturating_sub(1), run.attention.heads().saturating_sub(1));
        let mut number = |value: &mut usize, what: &str, most: usize| {
            let drag = ui.add(DragValue::new(value).range(0..=most).speed(0.1));
            drag.on_hover_text(tr!("%{what} of %{name}, from 0 to %{most}", what = what, name = name, most = most));
        };
        number(&mut head.layer, tr!("Layer"), layers);
        number(&mut head.head, tr!("Head"), heads);
    }
}
