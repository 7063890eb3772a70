//! A matrix on the screen: cells as a texture, labels that thin out, zoom and pan, a cross-hair, a colour bar.

use std::ops::Range;

use egui::{
    Align2, Color32, CursorIcon, FontId, Pos2, Rect, Response, Sense, Stroke, StrokeKind, TextureId, Ui, WidgetInfo,
    pos2, vec2,
};

use super::lang::tr;
use super::marks;
use super::words::Word;
use super::zoom::Zoom;
use crate::figure::{Tint, every_nth};

/// A row and a column.
pub type Cell = (usize, usize);

/// What stands along one side.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    pub title: &'a str,
    pub labels: &'a [String],
    /// The rows or columns of each text of a pair, with its letter; empty where there is no pair.
    pub segments: &'a [(Range<usize>, char)],
    pub pinned: Option<usize>,
}

/// What is drawn.
pub struct Matrix<'a> {
    /// What it is, for a screen reader.
    pub name: &'a str,
    pub texture: TextureId,
    pub rows: Side<'a>,
    pub columns: Side<'a>,
    /// The colour bar and its title; `None` where another matrix shows it.
    pub bar: Option<(&'a Tint, &'a str)>,
    /// Where a cross-hair stands that was set in another matrix.
    pub pointed: Option<Cell>,
}

/// What the reader did to it.
pub struct Touched {
    pub response: Response,
    /// The cell under the pointer.
    pub cell: Option<Cell>,
    /// A label that was clicked: its row or its column.
    pub row: Option<usize>,
    pub column: Option<usize>,
}

const FONT: f32 = 13.0;
const AXIS_FONT: f32 = 14.0;
/// Room for an axis title.
const AXIS: f32 = 22.0;
const BAR: f32 = 16.0;
const TICKS: f32 = 50.0;
/// Room for the letters of segments.
const SEGMENTS: f32 = 16.0;
/// The widest label.
const WIDEST: f32 = 120.0;

/// Where the parts of the picture are.
struct Layout {
    plot: Rect,
    bar: Rect,
    /// Room for the labels of rows and of columns.
    left: Rect,
    under: Rect,
    upright: bool,
    line: f32,
}

impl Matrix<'_> {
    /// Draws it into `area`. Its pixels must be those that `zoom` needs: see [`super::zoom::pixels`].
    pub fn show(&self, ui: &mut Ui, area: Rect, zoom: &mut Zoom) -> Touched {
        let layout = self.layout(ui, area, *zoom);
        let plot = layout.plot;
        ui.painter().with_clip_rect(plot).image(self.texture, plot, zoom.0, Color32::WHITE);
        let id = ui.scope_id().with(self.name);
        let response = ui.interact(plot, id, Sense::click_and_drag());
        response.widget_info(|| WidgetInfo::labeled(egui::Role::Image, true, self.name));
        zoom.navigate(ui, &response, plot, self.rows.labels.len().max(self.columns.labels.len()));
        let zoom = *zoom;
        let cell = response.hover_pos().and_then(|at| self.cell_at(at, plot, zoom));
        let strip = |rect: Rect, side: &str| {
            let strip = ui.interact(rect, id.with(side), Sense::click()).on_hover_cursor(CursorIcon::PointingHand);
            strip.widget_info(|| {
                WidgetInfo::labeled(egui::Role::Label, true, tr!("%{side} labels of %{a}", side = side, a = self.name))
            });
            strip
        };
        let (rows, columns) = (strip(layout.left, tr!("Row")), strip(layout.under, tr!("Column")));
        // Beside the plot a label's place is that of its row or column.
        let row_at = |strip: &Response| {
            let at = strip.hover_pos()?;
            self.cell_at(pos2(plot.left(), at.y), plot, zoom).map(|(row, _)| row)
        };
        let column_at = |strip: &Response| {
            let at = strip.hover_pos()?;
            self.cell_at(pos2(at.x, plot.top()), plot, zoom).map(|(_, column)| column)
        };
        let (over_row, over_column) = (row_at(&rows), column_at(&columns));
        let crossed = cell.or(self.pointed);
        self.draw_segments(ui, &layout, zoom);
        self.draw_pins(ui, plot, zoom);
        self.draw_row_labels(ui, &layout, zoom, over_row.or(crossed.map(|(row, _)| row)));
        self.draw_column_labels(ui, &layout, zoom, over_column.or(crossed.map(|(_, column)| column)));
        self.draw_titles(ui, area, plot);
        if let Some((tint, title)) = self.bar {
            draw_bar(ui, area, layout.bar, tint, title);
        }
        if let Some(cell) = crossed {
            self.draw_cross_hair(ui, plot, zoom, cell);
        }
        let row = over_row.filter(|_| rows.clicked());
        let column = over_column.filter(|_| columns.clicked());
        rows.on_hover_text(tr!("A click pins this token: every view follows it"));
        columns.on_hover_text(tr!("A click pins this token: every view follows it"));
        Touched { response, cell, row, column }
    }

    fn layout(&self, ui: &Ui, area: Rect, zoom: Zoom) -> Layout {
        let font = FontId::proportional(FONT);
        let line = ui.painter().layout_no_wrap("[CLS]".into(), font.clone(), Color32::WHITE).size().y;
        let widest = |side: &Side<'_>, (from, to): (f32, f32), room: f32| {
            let shown = shown(side.labels.len(), from, to, room, line).map(|at| side.labels[at].as_str());
            marks::widest(ui.painter(), shown, &font).min(WIDEST)
        };
        let gutter = |side: &Side<'_>| if side.segments.is_empty() { 0.0 } else { SEGMENTS };
        let (up_and_down, across) = ((zoom.0.top(), zoom.0.bottom()), (zoom.0.left(), zoom.0.right()));
        let beside = if self.bar.is_some() { BAR + TICKS + AXIS + 14.0 } else { 6.0 };
        let cells = self.columns.labels.len().max(1) as f32 * zoom.0.width();
        // Which labels are shown depends on the size of the plot, and that on the widest of them: a second look settles it.
        let (mut longest_row, mut under, mut height, mut upright) = (0f32, line, area.height(), false);
        let (mut left, mut right, mut bottom) = (area.left(), area.right(), area.bottom());
        for _ in 0..2 {
            longest_row = longest_row.max(widest(&self.rows, up_and_down, height));
            left = area.left() + AXIS + gutter(&self.rows) + longest_row + 8.0;
            right = (area.right() - beside).max(left + 40.0);
            let longest_column = widest(&self.columns, across, right - left);
            upright |= longest_column + 8.0 > (right - left) / cells;
            under = under.max(if upright { longest_column } else { line });
            bottom = area.bottom() - AXIS - gutter(&self.columns) - under - 8.0;
            height = (bottom - area.top() - 4.0).max(40.0);
        }
        let plot = Rect::from_min_max(pos2(left, area.top() + 4.0), pos2(right, bottom.max(area.top() + 44.0)));
        Layout {
            plot,
            bar: Rect::from_min_size(pos2(plot.right() + 14.0, plot.top()), vec2(BAR, plot.height())),
            left: Rect::from_min_max(pos2(plot.left() - longest_row - 6.0, plot.top()), plot.left_bottom()),
            under: Rect::from_min_max(plot.left_bottom(), pos2(plot.right(), plot.bottom() + under + 6.0)),
            upright,
            line,
        }
    }

    fn cell_at(&self, at: Pos2, plot: Rect, zoom: Zoom) -> Option<Cell> {
        let part = zoom.0.min + (at - plot.min) / plot.size() * zoom.0.size();
        let (rows, columns) = (self.rows.labels.len(), self.columns.labels.len());
        let place = |share: f32, count: usize| ((share * count as f32) as usize).min(count.saturating_sub(1));
        (rows > 0 && columns > 0 && plot.contains(at)).then(|| (place(part.y, rows), place(part.x, columns)))
    }

    /// The place of a cell on the screen.
    fn cell_rect(&self, plot: Rect, zoom: Zoom, (row, column): Cell) -> Rect {
        let (rows, columns) = (self.rows.labels.len().max(1) as f32, self.columns.labels.len().max(1) as f32);
        let at = |x: f32, y: f32| plot.min + (pos2(x, y) - zoom.0.min) / zoom.0.size() * plot.size();
        let (row, column) = (row as f32, column as f32);
        Rect::from_min_max(at(column / columns, row / rows), at((column + 1.0) / columns, (row + 1.0) / rows))
    }

    fn draw_row_labels(&self, ui: &Ui, layout: &Layout, zoom: Zoom, on: Option<usize>) {
        let (plot, labels, font) = (layout.plot, self.rows.labels, FontId::proportional(FONT));
        for row in shown(labels.len(), zoom.0.top(), zoom.0.bottom(), plot.height(), layout.line) {
            let y = self.cell_rect(plot, zoom, (row, 0)).center().y;
            if plot.y_range().contains(y) {
                let at = pos2(plot.left() - 6.0, y);
                let color = self.rows.ink(ui, row, on);
                let text = marks::cut(ui.painter(), &labels[row], &font, WIDEST);
                Word::new(ui.painter(), &text, &font).draw(ui.painter(), at, Align2::RIGHT_CENTER, color);
            }
        }
    }

    fn draw_column_labels(&self, ui: &Ui, layout: &Layout, zoom: Zoom, on: Option<usize>) {
        let (plot, labels, font) = (layout.plot, self.columns.labels, FontId::proportional(FONT));
        let needed = if layout.upright { layout.line } else { 0.0 };
        for column in shown(labels.len(), zoom.0.left(), zoom.0.right(), plot.width(), needed) {
            let x = self.cell_rect(plot, zoom, (0, column)).center().x;
            if plot.x_range().contains(x) {
                let color = self.columns.ink(ui, column, on);
                let text = marks::cut(ui.painter(), &labels[column], &font, WIDEST);
                let at = pos2(x, plot.bottom() + 6.0);
                let word = Word::new(ui.painter(), &text, &font);
                if layout.upright {
                    word.draw_upright(ui.painter(), at, color);
                } else {
                    word.draw(ui.painter(), at, Align2::CENTER_TOP, color);
                }
            }
        }
    }

    /// A line between the two texts of a pair, and their letters.
    fn draw_segments(&self, ui: &Ui, layout: &Layout, zoom: Zoom) {
        let plot = layout.plot;
        let (color, font) = (ui.visuals().weak_text_color(), FontId::proportional(FONT));
        let line = Stroke::new(1.0, color);
        for (rows, letter) in self.rows.segments {
            let (first, last) =
                (self.cell_rect(plot, zoom, (rows.start, 0)), self.cell_rect(plot, zoom, (rows.end - 1, 0)));
            let (top, bottom) = (first.top().max(plot.top()) + 2.0, last.bottom().min(plot.bottom()) - 2.0);
            if bottom > top {
                let x = layout.left.left() - 4.0;
                ui.painter().vline(x, top..=bottom, line);
                ui.painter().text(
                    pos2(x - 7.0, (top + bottom) / 2.0),
                    Align2::CENTER_CENTER,
                    letter,
                    font.clone(),
                    color,
                );
            }
            if rows.start > 0 && plot.y_range().contains(first.top()) {
                between(ui, [pos2(plot.left(), first.top()), pos2(plot.right(), first.top())]);
            }
        }
        for (columns, letter) in self.columns.segments {
            let (first, last) =
                (self.cell_rect(plot, zoom, (0, columns.start)), self.cell_rect(plot, zoom, (0, columns.end - 1)));
            let (left, right) = (first.left().max(plot.left()) + 2.0, last.right().min(plot.right()) - 2.0);
            if right > left {
                let y = layout.under.bottom() + 4.0;
                ui.painter().hline(left..=right, y, line);
                ui.painter().text(
                    pos2((left + right) / 2.0, y + 7.0),
                    Align2::CENTER_CENTER,
                    letter,
                    font.clone(),
                    color,
                );
            }
            if columns.start > 0 && plot.x_range().contains(first.left()) {
                between(ui, [pos2(first.left(), plot.top()), pos2(first.left(), plot.bottom())]);
            }
        }
    }

    /// The row and the column of pinned tokens are framed.
    fn draw_pins(&self, ui: &Ui, plot: Rect, zoom: Zoom) {
        let painter = ui.painter().with_clip_rect(plot.expand(1.0));
        let row = self.rows.pinned.map(|row| {
            let cell = self.cell_rect(plot, zoom, (row, 0));
            Rect::from_x_y_ranges(plot.x_range(), cell.y_range())
        });
        let column = self.columns.pinned.map(|column| {
            let cell = self.cell_rect(plot, zoom, (0, column));
            Rect::from_x_y_ranges(cell.x_range(), plot.y_range())
        });
        for rect in [row, column].into_iter().flatten() {
            painter.rect_stroke(rect, 0.0, Stroke::new(3.0, Color32::from_white_alpha(210)), StrokeKind::Middle);
            painter.rect_stroke(rect, 0.0, Stroke::new(1.5, marks::PIN), StrokeKind::Middle);
        }
    }

    fn draw_titles(&self, ui: &Ui, area: Rect, plot: Rect) {
        let (color, font) = (ui.visuals().text_color(), FontId::proportional(AXIS_FONT));
        let under = pos2(plot.center().x, area.bottom() - AXIS / 2.0);
        ui.painter().text(under, Align2::CENTER_CENTER, self.columns.title, font.clone(), color);
        let left = pos2(area.left() + AXIS / 2.0 - 2.0, plot.center().y);
        marks::upright_at(ui.painter(), left, self.rows.title, font, color);
    }

    fn draw_cross_hair(&self, ui: &Ui, plot: Rect, zoom: Zoom, cell: Cell) {
        let painter = ui.painter().with_clip_rect(plot.expand(1.0));
        let rect = self.cell_rect(plot, zoom, cell);
        // Dark on light and light on dark cells alike: a dark line beside a light one.
        for (width, color) in [(3.0, Color32::from_black_alpha(140)), (1.0, Color32::from_white_alpha(230))] {
            let stroke = Stroke::new(width, color);
            painter.hline(plot.left()..=rect.left(), rect.center().y, stroke);
            painter.vline(rect.center().x, rect.bottom()..=plot.bottom(), stroke);
            painter.rect_stroke(rect, 0.0, stroke, StrokeKind::Outside);
        }
    }
}

impl Side<'_> {
    fn ink(&self, ui: &Ui, at: usize, on: Option<usize>) -> Color32 {
        if self.pinned == Some(at) {
            marks::pin_ink(ui)
        } else if on == Some(at) {
            ui.visuals().strong_text_color()
        } else {
            ui.visuals().text_color()
        }
    }
}

/// A line that shows on light and dark cells.
fn between(ui: &Ui, ends: [Pos2; 2]) {
    ui.painter().line_segment(ends, Stroke::new(3.0, Color32::from_white_alpha(200)));
    ui.painter().line_segment(ends, Stroke::new(1.0, Color32::from_black_alpha(200)));
}

/// Every n-th row or column of those in view, counted from the first so that labels stand still while the picture is
/// moved; `side` points long, each label needing `needed` of them.
fn shown(all: usize, from: f32, to: f32, side: f32, needed: f32) -> impl Iterator<Item = usize> + use<> {
    let count = all as f32;
    let cell = side / ((to - from) * count).max(1e-6);
    let step = every_nth(cell, needed);
    let first = ((from * count) as usize).next_multiple_of(step.min(all.max(1)));
    let last = ((to * count).ceil() as usize).min(all);
    (first..last).step_by(step)
}

fn draw_bar(ui: &Ui, area: Rect, bar: Rect, tint: &Tint, title: &str) {
    let painter = ui.painter();
    let mut bar = bar;
    if let Some(name) = tint.legend() {
        let swatch = Rect::from_min_max(pos2(bar.left(), bar.bottom() - BAR), bar.max);
        painter.rect_filled(swatch, 0.0, marks::not_finite());
        let at = pos2(bar.right() + 7.0, swatch.center().y);
        marks::beside(painter, at, name, FontId::proportional(FONT - 2.0), ui.visuals().text_color());
        bar.max.y = swatch.top() - BAR / 2.0;
    }
    marks::color_bar(painter, bar, |share| {
        let [r, g, b] = tint.on_bar(share);
        Color32::from_rgb(r, g, b)
    });
    let color = ui.visuals().text_color();
    for (share, label) in tint.ticks() {
        let y = bar.bottom() - share * bar.height();
        painter.hline(bar.right()..=bar.right() + 4.0, y, Stroke::new(1.0, color));
        marks::beside(painter, pos2(bar.right() + 7.0, y), &label, FontId::proportional(FONT), color);
    }
    let at = pos2(area.right() - AXIS / 2.0, bar.center().y);
    marks::upright_at(painter, at, title, FontId::proportional(AXIS_FONT), color);
}
