//! Two maps and their difference as a figure.

use std::sync::Arc;

use plotters::style::FontTransform;
use plotters::style::text_anchor::HPos;

use super::heatmap::Heading;
use super::labels::{bar_title, reading_notes, shorten, unit_labels, view_name, why_nothing};
use super::panel::{Area, INK, NOTE, Panel, fit, text};
use super::tint::NO_DIFFERENCE;
use super::{FigureError, Svg, Tint, axis, printable};
use crate::metrics::{Compared, Comparison, Frame, upper};
use crate::run::{Run, ViewSpec};

/// A figure of A, B and A − B, 18 × 7 inches. A unit of its sizes is a hundredth of an inch.
#[derive(Debug, Clone)]
pub struct ComparisonFigure {
    pub a: (Arc<Run>, ViewSpec),
    pub b: (Arc<Run>, ViewSpec),
}

const SIZE: (u32, u32) = (1800, 700);
/// Room for a panel's own title.
const PANEL_TITLE: f32 = 22.0;

impl ComparisonFigure {
    /// The colours of A and of B: the same, up to the greater of their largest weights or by rank among both; by row, those
    /// of their own rows.
    pub fn weights(&self, found: &Comparison) -> [Tint; 2] {
        let top = |(run, view): &(Arc<Run>, ViewSpec), side: &Compared| {
            upper(&run.attention, &side.frame, view, side.map.view())
        };
        let view = &self.a.1;
        let upper = top(&self.a, &found.a).max(top(&self.b, &found.b));
        let tint = Tint::new(view.colors, upper, view.scale);
        let (a, b) = (found.a.map.view(), found.b.map.view());
        [tint.clone().over(&[a, b]), tint.over(&[b, a])]
    }

    /// Labels of rows and of columns, of A, B and their difference.
    pub fn labels(&self, found: &Comparison) -> [[Vec<String>; 2]; 3] {
        let side = |(run, _): &(Arc<Run>, ViewSpec), frame: &Frame| {
            [unit_labels(&run.input, &frame.rows), unit_labels(&run.input, &frame.columns)]
        };
        let (of_a, of_b) = (side(&self.a, &found.a.frame), side(&self.b, &found.b.frame));
        let shared = [
            found.rows.iter().map(|(row, _)| of_a[0][*row].clone()).collect(),
            found.columns.iter().map(|(column, _)| of_a[1][*column].clone()).collect(),
        ];
        [of_a, of_b, shared]
    }

    /// The colours of the difference: 0 in the middle.
    pub fn difference(&self, found: &Comparison) -> Tint {
        let greatest = found.greatest();
        let upper = if greatest < NO_DIFFERENCE { 1.0 } else { greatest };
        Tint::signed(upper, self.a.1.scale).over(&[found.difference.view()])
    }

    /// Draws the figure.
    ///
    /// # Errors
    /// [`FigureError::Run`] if a model has not the head that is asked for, [`FigureError::Draw`] if the texts share no word.
    pub fn draw(&self) -> Result<Svg, FigureError> {
        let found = Comparison::of((&self.a.0, &self.a.1), (&self.b.0, &self.b.1))?;
        if let Some((run, view)) = [(&self.a, &found.a), (&self.b, &found.b)]
            .into_iter()
            .find(|(_, side)| side.map.is_empty())
            .map(|(of, _)| of)
        {
            return Err(FigureError::NothingToShow(why_nothing(run, view)));
        }
        if found.difference.is_empty() {
            return Err(FigureError::Draw("the two texts share no word, so there is no difference to draw".into()));
        }
        let (weights, difference) = (self.weights(&found), self.difference(&found));
        let total = found.total().unwrap_or(0.0);
        let heading = Heading { title: "A, B and A − B".to_owned(), notes: self.notes(&found, total)?, size: SIZE };
        let rest = heading.rest();
        let width = rest.width / 3.0;
        let place = |at: usize| Area {
            x: rest.x + at as f32 * width,
            y: rest.y + PANEL_TITLE,
            width: width - 16.0,
            height: rest.height - PANEL_TITLE,
        };
        let [of_a, of_b, shared] = self.labels(&found);
        let bar = |values| bar_title(values, self.a.1.scale);
        let panels = [
            Panel::new(place(0), found.a.map.view(), of_a, &weights[0], bar(axis::WEIGHT), true)?,
            Panel::new(place(1), found.b.map.view(), of_b, &weights[1], bar(axis::WEIGHT), true)?,
            Panel::new(place(2), found.difference.view(), shared, &difference, bar("Difference"), false)?,
        ];
        let titles = fit(
            vec![
                format!("A: {}", self.describe(&self.a)),
                format!("B: {}", self.describe(&self.b)),
                "A − B".to_owned(),
            ],
            NOTE + 2.0,
            width - 24.0,
        )?
        .0;
        heading.draw_with(&panels, |root| {
            for (at, title) in titles.iter().enumerate() {
                let middle = (rest.x + (at as f32 + 0.5) * width, rest.y + PANEL_TITLE / 2.0);
                text(root, title, middle, NOTE + 2.0, &INK, HPos::Center, FontTransform::None)?;
            }
            Ok(())
        })
    }

    /// What is to be told of both sides: once where it is the same, else each with its letter; nothing of nothing.
    pub fn of_sides(&self, told: impl Fn(&Run, &ViewSpec) -> String) -> Vec<String> {
        let [of_a, of_b] = [&self.a, &self.b].map(|(run, view)| told(run, view));
        let notes = match of_a == of_b {
            true => vec![("", of_a)],
            false => vec![("A: ", of_a), ("B: ", of_b)],
        };
        let notes = notes.into_iter().filter(|(_, note)| !note.is_empty());
        notes.map(|(letter, note)| format!("{letter}{note}")).collect()
    }

    fn describe(&self, (run, view): &(Arc<Run>, ViewSpec)) -> String {
        let edits: Vec<String> = run.edits.iter().map(|edit| printable(&edit.to_string())).collect();
        let edited =
            if edits.is_empty() { String::new() } else { format!(", edited: {}", shorten(&edits.join(", "), 60)) };
        format!("{}, {}{edited}", printable(&run.model.name), view_name(&run.as_drawn(view)))
    }

    fn notes(&self, found: &Comparison, total: f32) -> Result<Vec<String>, FigureError> {
        let text = |(run, _): &(Arc<Run>, ViewSpec)| shorten(&printable(&run.input.texts.a), 120);
        let texts = if Arc::ptr_eq(&self.a.0.input.texts, &self.b.0.input.texts) || text(&self.a) == text(&self.b) {
            text(&self.a)
        } else {
            format!("A: {} │ B: {}", text(&self.a), text(&self.b))
        };
        let mut notes = vec![texts];
        let over = if found.same_tokens { "mean over rows" } else { "mean over shared rows, renormalised" };
        notes.push(format!("Jensen–Shannon divergence, {over}: {total:.4} nats"));
        notes.extend(self.of_sides(|run, view| reading_notes(run, view).join("; ")));
        for (name, (run, _)) in [("A", &self.a), ("B", &self.b)] {
            notes.extend(run.not_finite_notice().map(|notice| format!("{name}: {notice}")));
        }
        if !found.same_tokens {
            let (of_a, of_b) = found.left_out();
            notes.push(format!("words aligned; without a partner: {} of A and {} of B", of_a.len(), of_b.len()));
        }
        Ok(fit(notes, NOTE, SIZE.0 as f32 * 0.8)?.0)
    }
}
