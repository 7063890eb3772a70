//! One head's attention as a figure: cells, token labels, axis titles, colour bar, title.

use ndarray::s;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::labels::{reading_notes, shorten, unit_labels, view_name};
use super::panel::{Area, Drawn, INK, MARGIN, NOTE, Panel, QUIET, Root, fit, text};
use super::{FigureError, Svg, Tint, printable};
use crate::metrics::{Frame, read_view, upper};
use crate::run::{Crop, Run, TokenRange, ViewSpec};

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

pub(super) const TITLE: f32 = 18.0;

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
        let frame = Frame::of(&self.run.input, self.view.reading);
        let map = read_view(&self.run.attention, &frame, self.view)?;
        let upper = upper(&self.run.attention, &frame, self.view, map.view());
        let tint = Tint::new(self.view.colors, upper, self.view.scale).over(map.iter());
        let crop = self.crop(&frame)?;
        let labels = [
            unit_labels(&self.run.input, &frame.rows[crop.queries.range()]),
            unit_labels(&self.run.input, &frame.columns[crop.keys.range()]),
        ];
        let heading = Heading { title: self.title(), notes: self.notes()?, size: (self.width, self.height) };
        let shown = map.slice(s![crop.queries.range(), crop.keys.range()]);
        let panel = Panel::new(heading.rest(), shown, labels, &tint, axis::WEIGHT, true)?;
        heading.draw_with(&[panel], |_| Ok(()))
    }

    /// The part that is drawn: all of it unless the view says otherwise.
    fn crop(&self, frame: &Frame) -> Result<Crop, FigureError> {
        let (rows, columns) = (frame.rows.len(), frame.columns.len());
        let all = |end| TokenRange { start: 0, end };
        Ok(self.view.crop.unwrap_or(Crop { queries: all(rows), keys: all(columns) }).within(rows, columns)?)
    }

    fn title(&self) -> String {
        format!("{}: {}", printable(&self.run.model.name), view_name(self.view))
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
        let mut maps = self.view.heads().iter().map(|head| self.run.attention.head(*head));
        let dead = maps.any(|map| map.is_ok_and(|map| map.rows().into_iter().any(|row| row.sum() == 0.0)));
        let dead = dead.then(|| "grey rows attend to nothing: all their edges are cut".to_owned());
        let lacking = self.run.not_finite_notice();
        let part = self.view.crop.map(|crop| {
            format!("queries {} and keys {} of {} tokens", crop.queries, crop.keys, self.run.attention.tokens())
        });
        let reading = reading_notes(self.view);
        let reading = (!reading.is_empty()).then(|| reading.join("; "));
        let notes = quoted
            .into_iter()
            .chain(self.run.input.cut_notice())
            .chain(edits)
            .chain(reading)
            .chain(dead)
            .chain(lacking)
            .chain(part)
            .collect();
        Ok(fit(notes, NOTE, self.width as f32 * 0.7)?.0)
    }
}

/// The lines above a figure's panels.
pub(super) struct Heading {
    pub title: String,
    pub notes: Vec<String>,
    /// Width and height of the whole figure.
    pub size: (u32, u32),
}

impl Heading {
    /// What is left of the figure below them.
    pub fn rest(&self) -> Area {
        let (width, height) = (self.size.0 as f32, self.size.1 as f32);
        let top = MARGIN + TITLE + 8.0 + self.notes.len() as f32 * (NOTE + 6.0) + 6.0;
        Area { x: MARGIN, y: top, width: width - 2.0 * MARGIN, height: height - top - MARGIN }
    }

    /// Draws the whole figure: these lines, the panels, and what `more` adds.
    pub fn draw_with(
        &self,
        panels: &[Panel<'_>],
        more: impl for<'b> FnOnce(&Root<'b>) -> Drawn<'b>,
    ) -> Result<Svg, FigureError> {
        let mut document = String::new();
        {
            let root = SVGBackend::with_string(&mut document, self.size).into_drawing_area();
            let drawn = self.draw(&root).and_then(|()| panels.iter().try_for_each(|panel| panel.draw(&root)));
            let drawn = drawn.and_then(|()| more(&root)).and_then(|()| root.present());
            drawn.map_err(|error| FigureError::Draw(error.to_string()))?;
        }
        let images: String = panels.iter().map(Panel::images).collect::<Result<_, _>>()?;
        let end = document.rfind("</svg>").unwrap_or(document.len());
        document.insert_str(end, &images);
        Ok(Svg(document))
    }

    fn draw<'b>(&self, root: &Root<'b>) -> Drawn<'b> {
        root.fill(&WHITE)?;
        let middle = self.size.0 as f32 / 2.0;
        let mut y = MARGIN + TITLE / 2.0;
        text(root, &self.title, (middle, y), TITLE, &INK, HPos::Center, FontTransform::None)?;
        y += TITLE / 2.0 + 8.0;
        for note in &self.notes {
            y += NOTE / 2.0;
            text(root, note, (middle, y), NOTE, &QUIET, HPos::Center, FontTransform::None)?;
            y += NOTE / 2.0 + 6.0;
        }
        Ok(())
    }
}
