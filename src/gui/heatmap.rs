//! One head, or several as one, large.

use std::sync::Arc;

use egui::{Ui, vec2};

use super::action::Action;
use super::lang::tr;
use super::marks;
use super::matrix::{Matrix, Side};
use super::notes::{bar_title, reading_notes, view_name, with_drawn};
use super::pins::{Pin, segments};
use super::read_map::ReadMap;
use super::share::{self, Copied};
use super::zoom::{Canvas, Zoom};
use crate::figure::{axis, cell_shown, paint_attention};
use crate::metrics::{Frame, Unit};
use crate::run::{Crop, Edit, Intervention, Run, TokenChoice, TokenRange, ViewSpec};

/// The large heatmap with what it remembers between frames.
#[derive(Default)]
pub struct Heatmap {
    read: Option<ReadMap>,
    canvas: Canvas,
    zoom: Zoom,
    /// The row under the pointer when the menu was opened.
    menu_row: usize,
}

impl Heatmap {
    pub fn is_zoomed(&self) -> bool {
        !self.zoom.is_whole()
    }

    pub fn reset_zoom(&mut self) {
        self.zoom = Zoom::default();
    }

    /// The view with the part of the map that is on the screen, in whole rows and columns.
    pub fn as_shown(&self, run: &Run, view: &ViewSpec) -> ViewSpec {
        let frame = Frame::of(&run.input, view.reading);
        let range = |range: std::ops::Range<usize>| TokenRange { start: range.start, end: range.end };
        let crop = self.is_zoomed().then(|| Crop {
            queries: range(self.zoom.rows(frame.rows.len())),
            keys: range(self.zoom.columns(frame.columns.len())),
        });
        ViewSpec { crop, ..view.clone() }
    }

    pub fn show(&mut self, ui: &mut Ui, run: &Arc<Run>, view: &ViewSpec, pin: Option<&Pin>, actions: &mut Vec<Action>) {
        let ground = marks::ground(ui);
        if self.read.as_ref().is_none_or(|read| !read.is_of(run, view, ground)) {
            self.read = ReadMap::of(run, view, ground);
            self.canvas.clear();
        }
        let notes = reading_notes(run, view);
        if !notes.is_empty() {
            ui.small(notes.join("; "));
        }
        let Some(read) = &self.read else { return };
        if read.map.is_empty() {
            ui.label(tr!("Nothing of this text is left to show: show special tokens, or all segments"));
            return;
        }
        let space = ui.available_size().max(vec2(220.0, 160.0));
        let (area, _) = ui.allocate_exact_size(space, egui::Sense::hover());
        let (row_pin, column_pin) = Pin::in_frame(pin, &read.frame);
        let (row_segments, column_segments) =
            (segments(&run.input, &read.frame.rows), segments(&run.input, &read.frame.columns));
        let units = if read.frame.is_whole() { tr!("tokens") } else { tr!("rows and columns") };
        let name = tr!(
            "Attention of %{a}, %{b} × %{c} %{units}",
            a = view_name(&run.as_drawn(view)),
            b = read.rows.len(),
            c = read.columns.len(),
            units = units
        );
        let bar = bar_title(tr!(axis::WEIGHT), view.scale);
        let matrix = Matrix {
            name: &name,
            rows: Side { title: tr!(axis::QUERY), labels: &read.rows, segments: &row_segments, pinned: row_pin },
            columns: Side {
                title: tr!(axis::KEY),
                labels: &read.columns,
                segments: &column_segments,
                pinned: column_pin,
            },
            bar: Some((&read.tint, &bar)),
            pointed: None,
        };
        let touched = matrix.show(ui, area, &mut self.zoom, &mut self.canvas, |most| {
            paint_attention(read.map.view(), &read.tint, most)
        });
        let frame = &read.frame;
        actions.extend(touched.row.map(|row| Action::PinToken(Pin::Query(frame.rows[row].clone()))));
        actions.extend(touched.column.map(|column| Action::PinToken(Pin::Key(frame.columns[column].clone()))));
        if let Some((row, column)) = touched.cell {
            let (query, key) = (&frame.rows[row], &frame.columns[column]);
            if touched.response.clicked() {
                if ui.input(|input| input.modifiers.alt) {
                    actions.push(Action::ToggleCuts(cuts(view, query, key)));
                } else {
                    actions.push(Action::PinToken(Pin::Cell(query.clone(), key.clone())));
                }
            }
            if touched.response.secondary_clicked() {
                self.menu_row = row;
            }
        }
        let entries = [Copied::Picture, Copied::Row(self.menu_row), Copied::Command];
        touched.response.context_menu(|ui| share::menu(ui, &self.as_shown(run, view), &entries, actions));
        if let Some((cell, text)) = touched.cell.and_then(|cell| Some((cell, read.explain(cell)?))) {
            let (place, most) = touched.pixel.unwrap_or_default();
            let shown = cell_shown(read.map.view(), &read.tint, most, place);
            let drawn = if shown == cell { None } else { read.explain(shown) };
            touched.response.on_hover_text_at_pointer(with_drawn(text, drawn));
        }
    }
}

/// Cuts of every edge between two units, in every head that is shown.
fn cuts(view: &ViewSpec, query: &Unit, key: &Unit) -> Vec<Edit> {
    let edges = query.clone().flat_map(|query| key.clone().map(move |key| (query, key)));
    let edges: Vec<(usize, usize)> = edges.collect();
    let cut = |head: crate::run::HeadId, (query, key): (usize, usize)| {
        let (query, key) = (TokenChoice::One(query), TokenChoice::One(key));
        Edit { heads: head.into(), what: Intervention::Cut { query, key } }
    };
    view.heads().iter().flat_map(|&head| edges.iter().map(move |&edge| cut(head, edge))).collect()
}
