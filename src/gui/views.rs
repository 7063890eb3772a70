//! What each view is given of the window's state.

use std::sync::Arc;

use egui::{ScrollArea, Ui};
use ndarray::Array2;

use super::action::Action;
use super::app::HeadlightApp;
use super::compare::Offered;
use super::edits;
use super::examples;
use super::grid::{Numbers, Shown};
use super::inside::Known;
use super::lang::tr;
use super::output::Search;
use super::panes::Pane;
use super::ranking;
use crate::run::{HeadId, Run};

impl HeadlightApp {
    pub(super) fn show_pane(&mut self, ui: &mut Ui, pane: Pane, run: &Arc<Run>, actions: &mut Vec<Action>) {
        let view = self.shown_view();
        match pane {
            Pane::Heads => self.show_heads(ui, run, actions),
            Pane::Edits => {
                let furthest = movement_of(self.movement.as_ref(), run).map(furthest);
                let can = (self.history.can_undo(), self.history.can_redo());
                edits::list(ui, &self.surgery, can, self.pinned.as_ref().map(|pinned| &*pinned.run), furthest, actions);
            }
            Pane::Map => {
                if self.boxes.is_empty() {
                    examples::offer(ui, actions);
                }
                self.heatmap.show(ui, run, &view, self.held.as_ref(), actions);
            }
            Pane::Lines => {
                let heads: Vec<HeadId> = match self.selection.len() {
                    0 | 1 => vec![view.head],
                    _ => self.selection.iter().copied().collect(),
                };
                self.lines.show(ui, run, &view, &heads, self.held.as_ref(), actions);
            }
            Pane::Text => self.prose.show(ui, run, &view, self.held.as_ref(), actions),
            Pane::Compare => {
                let plain = self.conversation.plain().filter(|plain| Arc::ptr_eq(&plain.model, &run.model));
                let pinned = self.pinned.as_ref().map(|pinned| &pinned.run);
                let held = self.held.as_ref();
                self.compare.show(ui, Offered { shown: run, plain, pinned, view: &view, held }, actions);
            }
            Pane::Inside => {
                let known = Known {
                    run,
                    head: view.head,
                    held: self.held.as_ref(),
                    origin: self.conversation.inside(),
                    trouble: self.conversation.inside_trouble(),
                    edited: self.surgery.touches(view.head) && !run.edits.is_empty(),
                };
                self.inside.show(ui, known, actions);
            }
            Pane::Output => {
                ScrollArea::vertical().id_salt("output").auto_shrink([false, false]).show(ui, |ui| {
                    self.show_output(ui, actions);
                });
            }
        }
    }

    fn show_output(&mut self, ui: &mut Ui, actions: &mut Vec<Action>) {
        let Some(ran) = self.conversation.ran() else { return };
        let outcome = self.conversation.nearest();
        let stale = outcome
            .is_some_and(|outcome| outcome.spec.query != self.boxes.a || outcome.spec.edits != self.surgery.active());
        let search = Search { running: self.conversation.experiment(), outcome, stale };
        self.output.show(ui, ran, self.view.colors, &search, actions);
    }

    fn show_heads(&mut self, ui: &mut Ui, run: &Arc<Run>, actions: &mut Vec<Action>) {
        let outcome = self.conversation.ranking();
        let here = self.boxes.settled();
        let state = ranking::State {
            running: self.conversation.experiment(),
            outcome,
            stale: outcome.is_some_and(|found| found.is_stale(here.as_ref())),
            shown: self.shows_effects,
            metric: self.metric,
        };
        ranking::row(ui, &state, actions);
        // Of another model's heads there is nothing to show.
        let dim = (run.attention.layers(), run.attention.heads());
        let ranking = outcome.filter(|found| self.shows_effects && found.values().dim() == dim);
        let measured =
            self.measured.as_ref().filter(|(of, metric, _)| Arc::ptr_eq(of, run) && Some(*metric) == self.metric);
        if let (Some(metric), None, None) = (self.metric, ranking, measured) {
            self.workshop.measure_once(ui.ctx(), run, metric);
        }
        let explain_effect = |head: HeadId| ranking.map_or_else(String::new, |found| found.explain(head));
        let explain_metric = |head: HeadId| match measured {
            Some((_, metric, values)) => format!("{}: {:.4}", tr!(metric.name()), values[(head.layer, head.head)]),
            None => String::new(),
        };
        let under_way = state.running.is_some();
        let effects =
            ranking.map(|found| Numbers { values: found.values(), explain: &explain_effect, signed: true, under_way });
        let metrics = measured.map(|(_, _, values)| Numbers {
            values,
            explain: &explain_metric,
            signed: false,
            under_way: false,
        });
        let movement = movement_of(self.movement.as_ref(), run);
        let pinned = self.pinned.as_ref();
        let shown = Shown {
            run,
            view: &self.view,
            selection: &self.selection,
            surgery: &self.surgery,
            movement,
            furthest: movement.map_or(0.0, furthest),
            numbers: effects.or(metrics),
            // Heads cannot be patched from another model.
            pinned: pinned.filter(|pinned| Arc::ptr_eq(&pinned.run.model, &run.model)).map(|pinned| &*pinned.run),
            pinned_head: pinned.map(|pinned| pinned.head),
            held: self.held.as_ref(),
        };
        self.grid.show(ui, &shown, actions);
    }
}

/// How far each head moved from the plain run, where that is known of this run.
fn movement_of<'a>(known: Option<&'a (Arc<Run>, Array2<f32>)>, run: &Arc<Run>) -> Option<&'a Array2<f32>> {
    known.filter(|(of, _)| Arc::ptr_eq(of, run)).map(|(_, moved)| moved)
}

/// How far the head that moved most did.
fn furthest(moved: &Array2<f32>) -> f32 {
    moved.iter().copied().fold(0.0, f32::max)
}
