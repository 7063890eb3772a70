//! The list of edits, what can be done to heads, and the history.

use egui::{RichText, Slider, Ui};

use super::app::Action;
use super::surgery::Surgery;
use crate::run::{Edit, HeadPattern, Intervention, Recipe, Source};

/// Entries of a context menu that do something to heads.
pub fn menu(ui: &mut Ui, heads: HeadPattern, surgery: &Surgery, here: &Recipe, actions: &mut Vec<Action>) {
    let zeroed =
        surgery.entries().iter().any(|entry| entry.edit.heads == heads && entry.edit.what == Intervention::Zero);
    let name = if zeroed { "Switch on again" } else { "Switch off (zero)" };
    if ui.button(name).on_hover_text("The head hands on nothing, as if it were pruned").clicked() {
        actions.push(Action::ToggleZero(heads));
        ui.close();
    }
    let mut offer = |name: &str, help: &str, what: Intervention| {
        if ui.button(name).on_hover_text(help).clicked() {
            actions.push(Action::Edit(Edit { heads, what }));
            ui.close();
        }
    };
    offer("Uniform attention", "Every token gets the same weight", Intervention::Uniform);
    offer("Mean of this text", "Every token is handed the mean of what the head hands on", Intervention::Mean(None));
    offer("Look only left (causal)", "Tokens to the right of the query get no weight", Intervention::Causal);
    let freeze = Intervention::Freeze(Source::Run(Box::new(here.clone())));
    offer("Freeze this pattern", "Hold the pattern that these heads have now, while the text changes", freeze);
}

/// A slider that scales what the chosen head hands on.
pub fn scale_slider(ui: &mut Ui, heads: HeadPattern, now: f32, actions: &mut Vec<Action>) {
    let title = ui.label("Scale").on_hover_text("What this head hands on, times a factor; 1 is no change");
    let mut factor = now;
    let slider = ui.add(Slider::new(&mut factor, 0.0..=2.0).step_by(0.05)).labelled_by(title.id);
    if slider.changed() {
        actions.push(Action::Scale(heads, factor));
    }
}

/// The edits in their order, each with a switch, and the history.
///
/// `furthest` is how far the head that moved most is from the plain model, in nats.
pub fn list(ui: &mut Ui, surgery: &Surgery, furthest: Option<f32>, actions: &mut Vec<Action>) {
    ui.horizontal(|ui| {
        ui.label(RichText::new("Edits").strong());
        let mut button = |name: &str, help: &str, enabled: bool, action: Action| {
            if ui.add_enabled(enabled, egui::Button::new(name)).on_hover_text(help).clicked() {
                actions.push(action);
            }
        };
        button("Undo", "Ctrl+Z", surgery.can_undo(), Action::Undo);
        button("Redo", "Ctrl+Shift+Z", surgery.can_redo(), Action::Redo);
        button("Remove all", "Undo brings them back", !surgery.entries().is_empty(), Action::ClearEdits);
    });
    if surgery.entries().is_empty() && !surgery.can_undo() {
        ui.label(
            RichText::new(
                "Space switches the chosen head off, Ctrl and a click any other; a right-click on a thumbnail, a layer's \
                 or a head's number offers the rest. Alt and a click on a cell cuts that edge.",
            )
            .weak(),
        );
        return;
    }
    // The line is there before the number is, so that nothing below it moves.
    let longest = furthest.map(|nats| format!(", the longest {nats:.4} nats")).unwrap_or_default();
    ui.label(RichText::new(format!("Bars: how far each head moved from the plain model{longest}")).weak())
        .on_hover_text("Jensen–Shannon divergence, mean over rows; at most ln 2 = 0.6931");
    egui::ScrollArea::vertical().id_salt("edits").auto_shrink([false, true]).show(ui, |ui| {
        for (at, entry) in surgery.entries().iter().enumerate() {
            ui.horizontal(|ui| {
                let mut on = entry.on;
                if ui.checkbox(&mut on, entry.edit.to_string()).on_hover_text("Switch off and on").changed() {
                    actions.push(Action::SwitchEdit(at));
                }
                let remove = ui.small_button("✕").on_hover_text(format!("Remove {}", entry.edit));
                if remove.clicked() {
                    actions.push(Action::RemoveEdit(at));
                }
            });
        }
        ui.collapsing("History", |ui| {
            for (number, step) in surgery.history().enumerate() {
                ui.label(format!("{}. {step}", number + 1));
            }
        });
    });
}
