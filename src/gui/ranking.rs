//! Ranking heads by leave-one-out on the text that is shown.

use std::sync::Arc;

use egui::{ProgressBar, RichText, Ui};

use super::app::Action;
use crate::engine::Progress;
use crate::lab::{Importance, LeaveOneOut, Target};
use crate::run::Texts;

/// What is known of the ranking.
pub struct State<'a> {
    pub running: Option<Progress>,
    pub outcome: Option<&'a Importance>,
    /// The text has changed since.
    pub stale: bool,
    /// The grid shows effects in place of maps.
    pub shown: bool,
}

/// The experiment for a text, or for a pair its similarity.
pub fn experiment(texts: Texts) -> LeaveOneOut {
    let target = if texts.b.is_some() { Target::Similarity } else { Target::Own };
    LeaveOneOut { examples: Arc::new(vec![texts.into()]), target }
}

/// The row above the grid.
pub fn row(ui: &mut Ui, state: &State<'_>, actions: &mut Vec<Action>) {
    ui.horizontal_wrapped(|ui| {
        let help = "Switch each head off by itself and see what the output loses: the similarity of a pair, or the \
                    cosine of a sentence's vector with its plain one";
        match state.running {
            None => {
                if ui.button("Rank heads").on_hover_text(help).clicked() {
                    actions.push(Action::RankHeads);
                }
            }
            Some(progress) => running(ui, progress, actions),
        }
        let Some(outcome) = state.outcome else { return };
        let mut shown = state.shown;
        if ui.checkbox(&mut shown, "Show effects").on_hover_text("Effects of heads in place of their maps").changed() {
            actions.push(Action::ShowEffects(shown));
        }
        if state.shown {
            let target = outcome.spec.target.describe();
            let stale = if state.stale { ", of an earlier text" } else { "" };
            ui.label(RichText::new(format!("what the {target} loses without each head{stale}")).weak());
        }
    });
}

/// How far an experiment has come, and a button that gives it up.
pub fn running(ui: &mut Ui, progress: Progress, actions: &mut Vec<Action>) {
    let share = progress.done as f32 / progress.total.max(1) as f32;
    let text = format!("{} of {}", progress.done, progress.total);
    ui.add(ProgressBar::new(share).desired_width(120.0).text(text));
    if ui.button("Cancel").clicked() {
        actions.push(Action::CancelExperiment);
    }
}
