//! One head's attention as a figure: cells, token labels, axis titles, colour bar, title.

use std::collections::{BTreeSet, HashMap};

use base64::Engine;
use ndarray::s;
use plotters::coord::ranged1d::{KeyPointHint, Ranged};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use resvg::tiny_skia;

use super::fonts::drawable;
use super::labels::{every_nth, shorten, token_labels};
use super::render::text_widths;
use super::{Cells, FigureError, Palette, Svg, paint_attention, printable};
use crate::run::{Crop, HeadId, Run, TokenRange, ViewSpec};

/// What the axes are called, everywhere: rows are queries, columns are keys.
pub mod axis {
    pub const QUERY: &str = "Query (attends)";
    pub const KEY: &str = "Key (attended to)";
    pub const WEIGHT: &str = "Attention weight";
}

/// A figure of one head. A unit of its sizes is a hundredth of an inch.
#[derive(Debug, Clone, Copy)]
pub struct HeatmapFigure<'a> {
    run: &'a Run,
    view: &'a ViewSpec,
    width: u32,
    height: u32,
}

const TITLE: f32 = 18.0;
const NOTE: f32 = 12.0;
const LABEL: f32 = 13.0;
const SMALLEST_LABEL: f32 = 7.0;
const AXIS: f32 = 14.0;
const MARGIN: f32 = 18.0;
const BAR: f32 = 22.0;
/// The widest token label, as a share of the figure.
const LABEL_SHARE: f32 = 0.16;
const INK: RGBColor = RGBColor(30, 30, 30);
const QUIET: RGBColor = RGBColor(95, 95, 95);

impl<'a> HeatmapFigure<'a> {
    /// The default size is seaborn's usual 10 × 8 inches.
    pub fn new(run: &'a Run, view: &'a ViewSpec) -> Self {
        Self { run, view, width: 1000, height: 800 }
    }

    /// Draws the figure.
    ///
    /// # Errors
    /// [`FigureError::Run`] if the model has no such head.
    pub fn draw(&self) -> Result<Svg, FigureError> {
        let head = self.view.head;
        let map = self.run.attention.head(head)?;
        let upper = self.view.range.upper(&self.run.attention, head)?;
        let palette = Palette::new(self.view.colors);
        let layout = Layout::new(self)?;

        let mut document = String::new();
        {
            let root = SVGBackend::with_string(&mut document, (self.width, self.height)).into_drawing_area();
            draw_with(&root, self, &layout, upper).map_err(|error| FigureError::Draw(error.to_string()))?;
        }
        let crop = self.crop()?;
        let map = map.slice_move(s![crop.queries.range(), crop.keys.range()]);
        let cells = image(&layout.plot, &paint_attention(map, upper, &palette, usize::MAX))?;
        let rgb: Vec<u8> = palette.steps().iter().rev().flatten().copied().collect();
        let bar = image(&layout.bar, &Cells { width: 1, height: 256, rgb })?;
        // plotters would embed a smoothed bitmap: the two images are written by hand.
        let end = document.rfind("</svg>").unwrap_or(document.len());
        document.insert_str(end, &(cells + &bar));
        Ok(Svg(document))
    }

    /// The part that is drawn: all of it unless the view says otherwise.
    fn crop(&self) -> Result<Crop, FigureError> {
        let tokens = self.run.attention.tokens();
        let all = TokenRange { start: 0, end: tokens };
        Ok(self.view.crop.unwrap_or(Crop { queries: all, keys: all }).within(tokens)?)
    }

    fn title(&self) -> String {
        let HeadId { layer, head } = self.view.head;
        format!("{}: layer {layer}, head {head}", printable(&self.run.model.name))
    }

    fn notes(&self) -> Result<Vec<String>, FigureError> {
        let texts = &self.run.input.texts;
        let text = match &texts.b {
            Some(b) => format!("{} │ {b}", texts.a),
            None => texts.a.clone(),
        };
        // A first cut by count: the exact one measures, and measuring a whole book takes its time.
        let quoted = (!text.is_empty()).then(|| shorten(&printable(&text), 200));
        let edits: Vec<String> = self.run.edits.iter().map(|edit| printable(&edit.to_string())).collect();
        let edits = (!edits.is_empty()).then(|| format!("edited: {}", edits.join(", ")));
        let dead = self.run.attention.head(self.view.head)?.rows().into_iter().any(|row| row.sum() == 0.0);
        let dead = dead.then(|| "grey rows attend to nothing: all their edges are cut".to_owned());
        let part = self.view.crop.map(|crop| {
            format!("queries {} and keys {} of {} tokens", crop.queries, crop.keys, self.run.attention.tokens())
        });
        let notes =
            quoted.into_iter().chain(self.run.input.cut_notice()).chain(edits).chain(dead).chain(part).collect();
        Ok(fit(notes, NOTE, self.width as f32 * 0.7)?.0)
    }
}

#[derive(Debug, Clone, Copy)]
struct Area {
    x: f32,
    y: f32,
    width: f32,
    height: f32,
}

struct Layout {
    plot: Area,
    bar: Area,
    notes: Vec<String>,
    rows: Vec<String>,
    columns: Vec<String>,
    label_size: f32,
    /// Labels of the vertical axis stand at every n-th token, those of the horizontal one likewise.
    every_row: usize,
    every_column: usize,
    /// Key labels stand upright where their cells are narrower than they are.
    upright: bool,
}

impl Layout {
    fn new(figure: &HeatmapFigure<'_>) -> Result<Self, FigureError> {
        let (width, height) = (figure.width as f32, figure.height as f32);
        let notes = figure.notes()?;
        let all = token_labels(&figure.run.input);
        let crop = figure.crop()?;
        let (rows, columns) = (all[crop.queries.range()].to_vec(), all[crop.keys.range()].to_vec());
        let (row_count, column_count) = (rows.len().max(1) as f32, columns.len().max(1) as f32);
        // A first guess of the cells decides the size of the labels, whose width then decides the cells.
        let guess = (height * 0.7 / row_count).min(width * 0.7 / column_count);
        let label_size = (guess * 0.85).clamp(SMALLEST_LABEL, LABEL);
        let line = label_size * 1.25;
        let most = width * LABEL_SHARE;
        let (rows, longest_row) = fit(rows, label_size, most)?;
        let (columns, longest_column) = fit(columns, label_size, most)?;

        let top = MARGIN + TITLE + 8.0 + notes.len() as f32 * (NOTE + 6.0) + 6.0;
        let left = MARGIN + AXIS + 8.0 + longest_row + 6.0;
        let right = 30.0 + BAR + 52.0 + AXIS + MARGIN;
        let plot_width = width - left - right;
        let upright = longest_column + 8.0 > plot_width / column_count;
        let under = if upright { longest_column } else { line };
        let plot_height = height - top - under - 6.0 - 8.0 - AXIS - MARGIN;
        let plot = Area { x: left, y: top, width: plot_width, height: plot_height };
        let bar = Area { x: left + plot_width + 30.0, y: top, width: BAR, height: plot_height };
        Ok(Self {
            plot,
            bar,
            notes,
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
fn fit(texts: Vec<String>, size: f32, most: f32) -> Result<(Vec<String>, f32), FigureError> {
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

type Root<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Drawn<'a> = Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

fn draw_with<'a>(root: &Root<'a>, figure: &HeatmapFigure<'_>, layout: &Layout, upper: f32) -> Drawn<'a> {
    root.fill(&WHITE)?;
    let middle = layout.plot.x + layout.plot.width / 2.0;
    let mut y = MARGIN + TITLE / 2.0;
    text(root, &figure.title(), (middle, y), TITLE, &INK, HPos::Center, FontTransform::None)?;
    y += TITLE / 2.0 + 8.0;
    for note in &layout.notes {
        y += NOTE / 2.0;
        text(root, note, (middle, y), NOTE, &QUIET, HPos::Center, FontTransform::None)?;
        y += NOTE / 2.0 + 6.0;
    }
    draw_labels(root, layout)?;
    draw_axis_titles(root, layout, figure.height as f32)?;
    draw_bar(root, layout, upper)?;
    root.present()
}

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

fn draw_axis_titles<'a>(root: &Root<'a>, layout: &Layout, height: f32) -> Drawn<'a> {
    let plot = layout.plot;
    let (across, down) = (plot.x + plot.width / 2.0, plot.y + plot.height / 2.0);
    text(root, axis::KEY, (across, height - MARGIN - AXIS / 2.0), AXIS, &INK, HPos::Center, FontTransform::None)?;
    text(root, axis::QUERY, (MARGIN + AXIS / 2.0, down), AXIS, &INK, HPos::Center, FontTransform::Rotate270)?;
    let bar = layout.bar;
    let beside = bar.x + bar.width + 52.0 + AXIS / 2.0;
    text(root, axis::WEIGHT, (beside, down), AXIS, &INK, HPos::Center, FontTransform::Rotate270)
}

fn draw_bar<'a>(root: &Root<'a>, layout: &Layout, upper: f32) -> Drawn<'a> {
    let Area { x, y, width, height } = layout.bar;
    for (value, label) in ticks(upper) {
        let at = y + height * (1.0 - value / upper);
        let line = [((x + width) as i32, at.round() as i32), ((x + width + 5.0) as i32, at.round() as i32)];
        root.draw(&PathElement::new(line.to_vec(), INK))?;
        text(root, &label, (x + width + 9.0, at), LABEL, &INK, HPos::Left, FontTransform::None)?;
    }
    Ok(())
}

/// Round numbers from 0 to `upper` for a colour bar, each with as many decimals as their step needs.
pub fn ticks(upper: f32) -> Vec<(f32, String)> {
    struct Few;
    impl KeyPointHint for Few {
        fn max_num_points(&self) -> usize {
            7
        }
        fn weight(&self) -> plotters::coord::ranged1d::KeyPointWeight {
            plotters::coord::ranged1d::KeyPointWeight::Bold
        }
        fn bold_points(&self) -> usize {
            7
        }
    }
    let values = plotters::coord::types::RangedCoordf32::from(0.0..upper).key_points(Few);
    let step = values.windows(2).map(|pair| pair[1] - pair[0]).fold(upper, f32::min);
    let decimals = (-step.log10().floor()).clamp(0.0, 8.0) as usize;
    values.into_iter().map(|value| (value, format!("{value:.decimals$}"))).collect()
}

fn text<'a>(
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
