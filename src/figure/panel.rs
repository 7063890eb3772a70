//! A map with its labels, axis titles and colour bar: one panel of a figure.

use std::collections::{BTreeSet, HashMap};

use base64::Engine;
use ndarray::ArrayView2;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use resvg::tiny_skia;

use super::fonts::drawable;
use super::labels::{every_nth, shorten};
use super::render::text_widths;
use super::{Cells, FigureError, NOT_FINITE, Tint, axis, paint, paint_attention};

pub(super) const NOTE: f32 = 12.0;
pub(super) const MARGIN: f32 = 18.0;
const LABEL: f32 = 13.0;
const SMALL: f32 = 11.0;
const SMALLEST_LABEL: f32 = 7.0;
const AXIS: f32 = 14.0;
const BAR: f32 = 22.0;
/// Room below the colour bar for what is not finite.
const LEGEND: f32 = 34.0;
/// The widest token label, as a share of the panel.
const LABEL_SHARE: f32 = 0.16;
pub(super) const INK: RGBColor = RGBColor(30, 30, 30);
pub(super) const QUIET: RGBColor = RGBColor(95, 95, 95);

/// A part of a figure, in its units.
#[derive(Debug, Clone, Copy)]
pub(super) struct Area {
    pub x: f32,
    pub y: f32,
    pub width: f32,
    pub height: f32,
}

/// What a panel shows.
pub(super) struct Panel<'a> {
    pub map: ArrayView2<'a, f32>,
    pub tint: &'a Tint,
    /// The values are weights: a row without any has a colour of its own.
    pub weights: bool,
    pub bar_title: &'a str,
    layout: Layout,
}

struct Layout {
    area: Area,
    plot: Area,
    bar: Area,
    rows: Vec<String>,
    columns: Vec<String>,
    label_size: f32,
    /// Labels of the vertical axis stand at every n-th token, those of the horizontal one likewise.
    every_row: usize,
    every_column: usize,
    /// Key labels stand upright where their cells are narrower than they are.
    upright: bool,
}

impl<'a> Panel<'a> {
    /// A panel that fills an area of the figure.
    pub fn new(
        area: Area,
        map: ArrayView2<'a, f32>,
        labels: [Vec<String>; 2],
        tint: &'a Tint,
        bar_title: &'a str,
        weights: bool,
    ) -> Result<Self, FigureError> {
        Ok(Self { map, tint, weights, bar_title, layout: Layout::new(area, labels, tint)? })
    }

    /// Labels, titles and ticks.
    pub fn draw<'b>(&self, root: &Root<'b>) -> Drawn<'b> {
        draw_labels(root, &self.layout)?;
        draw_axis_titles(root, &self.layout, self.bar_title)?;
        draw_bar(root, &self.layout, self.tint)
    }

    /// Cells and colour bar as elements of the document: plotters would embed smoothed bitmaps.
    pub fn images(&self) -> Result<String, FigureError> {
        let cells = match self.weights {
            true => paint_attention(self.map, self.tint, usize::MAX),
            false => paint(self.map, self.tint, usize::MAX),
        };
        let rgb: Vec<u8> = self.tint.steps().iter().rev().flatten().copied().collect();
        let bar = image(&self.layout.bar, &Cells { width: 1, height: 256, rgb })?;
        Ok(image(&self.layout.plot, &cells)? + &bar)
    }
}

impl Layout {
    fn new(area: Area, [rows, columns]: [Vec<String>; 2], tint: &Tint) -> Result<Self, FigureError> {
        let Area { width, height, .. } = area;
        let (row_count, column_count) = (rows.len().max(1) as f32, columns.len().max(1) as f32);
        // A first guess of the cells decides the size of the labels, whose width then decides the cells.
        let guess = (height * 0.8 / row_count).min(width * 0.7 / column_count);
        let label_size = (guess * 0.85).clamp(SMALLEST_LABEL, LABEL);
        let line = label_size * 1.25;
        let most = width * LABEL_SHARE;
        let (rows, longest_row) = fit(rows, label_size, most)?;
        let (columns, longest_column) = fit(columns, label_size, most)?;

        let left = AXIS + 8.0 + longest_row + 6.0;
        let right = 30.0 + BAR + 52.0 + AXIS;
        let plot_width = width - left - right;
        let upright = longest_column + 8.0 > plot_width / column_count;
        let under = if upright { longest_column } else { line };
        let plot_height = height - under - 6.0 - 8.0 - AXIS;
        let plot = Area { x: area.x + left, y: area.y, width: plot_width, height: plot_height };
        let legend = if tint.legend().is_some() { LEGEND } else { 0.0 };
        let bar = Area { x: plot.x + plot_width + 30.0, y: area.y, width: BAR, height: plot_height - legend };
        Ok(Self {
            area,
            plot,
            bar,
            rows,
            columns,
            label_size,
            every_row: every_nth(plot_height / row_count, line),
            every_column: every_nth(plot_width / column_count, if upright { line } else { 0.0 }),
            upright,
        })
    }
}

/// Makes texts that can be drawn and are at most `most` wide; gives them and the greatest width among them.
pub(super) fn fit(texts: Vec<String>, size: f32, most: f32) -> Result<(Vec<String>, f32), FigureError> {
    let texts: Vec<String> = texts.iter().map(|text| drawable(text)).collect();
    // A long text repeats its words: each is measured once.
    let distinct: Vec<String> = texts.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect();
    let widths: HashMap<&String, f32> = distinct.iter().zip(text_widths(&distinct, size)?).collect();
    let width_of = |text: &String| widths.get(text).copied().unwrap_or(0.0);
    let longest = texts.iter().map(width_of).fold(0.0, f32::max).min(most);
    let fitted = texts.iter().map(|text| {
        let share = most / width_of(text).max(1.0);
        if share >= 1.0 { text.clone() } else { shorten(text, (text.chars().count() as f32 * share) as usize) }
    });
    Ok((fitted.collect(), longest))
}

pub(super) type Root<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
pub(super) type Drawn<'a> = Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

fn draw_labels<'a>(root: &Root<'a>, layout: &Layout) -> Drawn<'a> {
    let Area { x, y, width, height } = layout.plot;
    let size = layout.label_size;
    let cell = height / layout.rows.len() as f32;
    for (token, label) in layout.rows.iter().enumerate().step_by(layout.every_row) {
        let at = (x - 6.0, y + (token as f32 + 0.5) * cell);
        text(root, label, at, size, &INK, HPos::Right, FontTransform::None)?;
    }
    let cell = width / layout.columns.len() as f32;
    let (down, anchor, turn) = if layout.upright {
        (6.0, HPos::Right, FontTransform::Rotate270)
    } else {
        (6.0 + size / 2.0, HPos::Center, FontTransform::None)
    };
    for (token, label) in layout.columns.iter().enumerate().step_by(layout.every_column) {
        let at = (x + (token as f32 + 0.5) * cell, y + height + down);
        text(root, label, at, size, &INK, anchor, turn.clone())?;
    }
    Ok(())
}

fn draw_axis_titles<'a>(root: &Root<'a>, layout: &Layout, bar_title: &str) -> Drawn<'a> {
    let (area, plot) = (layout.area, layout.plot);
    let (across, down) = (plot.x + plot.width / 2.0, plot.y + plot.height / 2.0);
    let under = area.y + area.height - AXIS / 2.0;
    text(root, axis::KEY, (across, under), AXIS, &INK, HPos::Center, FontTransform::None)?;
    text(root, axis::QUERY, (area.x + AXIS / 2.0, down), AXIS, &INK, HPos::Center, FontTransform::Rotate270)?;
    let beside = area.x + area.width - AXIS / 2.0;
    text(root, bar_title, (beside, down), AXIS, &INK, HPos::Center, FontTransform::Rotate270)
}

fn draw_bar<'a>(root: &Root<'a>, layout: &Layout, tint: &Tint) -> Drawn<'a> {
    let Area { x, y, width, height } = layout.bar;
    for (share, label) in tint.ticks() {
        let at = y + height * (1.0 - share);
        let line = [((x + width) as i32, at.round() as i32), ((x + width + 5.0) as i32, at.round() as i32)];
        root.draw(&PathElement::new(line.to_vec(), INK))?;
        text(root, &label, (x + width + 9.0, at), LABEL, &INK, HPos::Left, FontTransform::None)?;
    }
    if let Some(name) = tint.legend() {
        let (top, [r, g, b]) = (y + height + LEGEND - BAR, NOT_FINITE);
        let corners = [(x as i32, top as i32), ((x + width) as i32, (top + BAR) as i32)];
        root.draw(&Rectangle::new(corners, RGBColor(r, g, b).filled()))?;
        text(root, name, (x + width + 9.0, top + BAR / 2.0), SMALL, &INK, HPos::Left, FontTransform::None)?;
    }
    Ok(())
}

pub(super) fn text<'a>(
    root: &Root<'a>,
    text: &str,
    at: (f32, f32),
    size: f32,
    color: &RGBColor,
    anchor: HPos,
    turn: FontTransform,
) -> Drawn<'a> {
    // The SVG back end divides font sizes by this number.
    let font = ("sans-serif", f64::from(size) * 1.24).into_font().transform(turn);
    let style = font.color(color).pos(Pos::new(anchor, VPos::Center));
    root.draw(&Text::new(text.to_owned(), (at.0.round() as i32, at.1.round() as i32), style))
}

/// An `<image>` element whose pixels stay sharp at any size.
fn image(area: &Area, cells: &Cells) -> Result<String, FigureError> {
    let failed = |cause: String| FigureError::Draw(cause);
    let rgba: Vec<u8> = cells.rgb.chunks_exact(3).flat_map(|rgb| [rgb[0], rgb[1], rgb[2], 255]).collect();
    let size = tiny_skia::IntSize::from_wh(cells.width as u32, cells.height as u32)
        .ok_or_else(|| failed("there is no token to show".into()))?;
    let pixmap = tiny_skia::Pixmap::from_vec(rgba, size).ok_or_else(|| failed("the cells are incomplete".into()))?;
    let png = pixmap.encode_png().map_err(|error| failed(error.to_string()))?;
    let data = base64::engine::general_purpose::STANDARD.encode(png);
    let Area { x, y, width, height } = area;
    Ok(format!(
        "<image x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" preserveAspectRatio=\"none\" \
         style=\"image-rendering: pixelated\" image-rendering=\"optimizeSpeed\" href=\"data:image/png;base64,{data}\"/>\n"
    ))
}
