//! The status line and the notices above the map.

use egui::{RichText, Ui};

use super::app::{Action, HeadlightApp};
use super::file_dialog::Asks;
use crate::run::ModelInfo;

impl HeadlightApp {
    pub(super) fn show_status(&self, ui: &mut Ui) {
        ui.horizontal(|ui| {
            match self.conversation.model() {
                Some(model) => ui.label(RichText::new(&model.name).strong()).on_hover_text(describe(model)),
                None => ui.label("no model"),
            };
            if let Some(run) = self.conversation.run() {
                ui.separator();
                let tokens = run.attention.tokens();
                ui.label(format!("{tokens} tokens"));
                ui.separator();
                ui.label(format!("{:.1} ms", run.elapsed.as_secs_f64() * 1e3))
                    .on_hover_text("Wall-clock of the last forward pass, from tokens to captured attention");
            }
            if self.conversation.updating() {
                ui.separator();
                match self.conversation.preparing() {
                    Some(progress) => {
                        ui.label(format!("mean over a text file: {} of {}", progress.done, progress.total))
                            .on_hover_text("Undo takes the edit back that needs it");
                    }
                    None => {
                        ui.label("updating…");
                    }
                }
            }
            let edits = self.surgery.active().len();
            if edits > 0 {
                ui.separator();
                ui.label(if edits == 1 { "1 edit".to_owned() } else { format!("{edits} edits") });
            }
            if let Some(news) = &self.news {
                ui.separator();
                ui.label(news);
            }
        });
    }

    pub(super) fn show_notices(&self, ui: &mut Ui) {
        let notices = self.shown().map(|run| run.notices()).unwrap_or_default();
        let warning = ui.visuals().warn_fg_color;
        for notice in notices {
            ui.label(RichText::new(format!("⚠ {notice}")).color(warning));
        }
        if let Some(trouble) = self.conversation.trouble() {
            let error = ui.visuals().error_fg_color;
            ui.label(RichText::new(format!("⚠ {trouble}")).color(error));
        }
    }
}

/// A model in a few lines.
fn describe(model: &ModelInfo) -> String {
    let tasks: Vec<&str> = model.tasks.iter().map(|info| info.task.name()).collect();
    let tasks = if tasks.is_empty() { "no task head".to_owned() } else { tasks.join(", ") };
    format!(
        "{}\n{}, {} layers × {} heads, hidden size {}\n{tasks}\nsentence vector: {}",
        model.folder.display(),
        model.family,
        model.layers,
        model.heads,
        model.hidden,
        model.pooling.describe()
    )
}

/// The menu of sessions.
pub fn session_menu(ui: &mut Ui, actions: &mut Vec<Action>) {
    ui.menu_button("Session", |ui| {
        for (name, help, asks) in [
            ("Open…", "Read texts, edits and view from a file", Asks::OpenSession),
            (
                "Save…",
                "Keep texts, edits and view in a file; the numbers are computed again from them",
                Asks::SaveSession,
            ),
        ] {
            if ui.button(name).on_hover_text(help).clicked() {
                actions.push(Action::AskFile(asks));
                ui.close();
            }
        }
    });
}
