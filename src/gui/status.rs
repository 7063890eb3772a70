//! The status line and the notices above the map.

use std::path::PathBuf;
use std::sync::Arc;

use egui::{RichText, ScrollArea, Ui, Window};

use super::action::Action;
use super::app::HeadlightApp;
use super::conversation::Loading;
use super::file_dialog::Asks;
use crate::engine::Progress;
use crate::run::ModelInfo;

impl HeadlightApp {
    pub(super) fn show_status(&self, ui: &mut Ui, actions: &mut Vec<Action>) {
        ui.horizontal(|ui| {
            self.model_menu(ui, actions);
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
        });
    }

    /// The model's name, under which others are offered.
    fn model_menu(&self, ui: &mut Ui, actions: &mut Vec<Action>) {
        let name = self.conversation.model().map_or("no model", |model| model.name.as_str());
        let menu = ui.menu_button(RichText::new(name).strong(), |ui| {
            let own = self.conversation.model().map(|model| model.folder.as_path());
            let recent = self.recent.beside(&self.models);
            for group in [&self.models, &recent] {
                for (name, folder) in group {
                    let button = ui.selectable_label(Some(folder.as_path()) == own, name);
                    if button.on_hover_text(folder.display().to_string()).clicked() {
                        actions.push(Action::OpenModel(folder.clone()));
                        ui.close();
                    }
                }
                if !group.is_empty() {
                    ui.separator();
                }
            }
            if let Some(model) = self.conversation.model() {
                let help = "Its shape, files, and what was found while it was read";
                if ui.button(format!("About {}", model.name)).on_hover_text(help).clicked() {
                    actions.push(Action::ShowModel(true));
                    ui.close();
                }
            }
            if ui.button("Fetch a model…").on_hover_text("From the Hugging Face hub, by its name").clicked() {
                actions.push(Action::OpenHub);
                ui.close();
            }
            if ui.button("Open a folder…").on_hover_text("A folder can be dropped onto the window as well").clicked()
            {
                actions.push(Action::AskFile(Asks::OpenModel));
                ui.close();
            }
        });
        if let Some(model) = self.conversation.model() {
            menu.response.on_hover_text(describe(model));
        }
        if let Some(loading) = self.conversation.loading() {
            ui.separator();
            ui.label(far(loading));
            let button = ui.add_enabled(!loading.given_up, egui::Button::new("Cancel"));
            if button.on_hover_text("Stay with the model in use").clicked() {
                actions.push(Action::CancelLoading);
            }
        }
    }

    /// What is known of the model that is open, its load report included.
    pub(super) fn show_model(&self, ui: &Ui, actions: &mut Vec<Action>) {
        let mut open = true;
        Window::new("About the model").default_pos([592.0, 110.0]).open(&mut open).show(ui.ctx(), |ui| {
            let Some(model) = self.conversation.model() else { return };
            ui.label(describe(model));
            let report = &model.report;
            ui.label(format!("files: {}", report.files.join(", ")));
            ScrollArea::vertical().max_height(300.0).show(ui, |ui| {
                let renamed = report.renamed.iter().map(|(asked, found)| format!("{found}, read as {asked}"));
                for (title, lines) in [
                    ("Weights under older names", renamed.collect::<Vec<_>>()),
                    ("Tensors that nothing uses", report.unused.clone()),
                    ("Weights with numbers that are infinite or none", report.not_finite.clone()),
                ] {
                    if !lines.is_empty() {
                        ui.label(RichText::new(format!("{title}: {}", lines.len())).strong());
                        ui.label(lines.join("\n"));
                    }
                }
            });
        });
        if !open {
            actions.push(Action::ShowModel(false));
        }
    }

    pub(super) fn show_notices(&self, ui: &mut Ui, actions: &mut Vec<Action>) {
        let notices = self.shown().map(|run| run.notices()).unwrap_or_default();
        let warning = ui.visuals().warn_fg_color;
        for notice in notices {
            ui.label(RichText::new(format!("⚠ {notice}")).color(warning));
        }
        let unknown = self.shown().is_some_and(|run| run.input.unknown_notice().is_some());
        let own = self.conversation.model().map(Arc::as_ref);
        if let Some((name, folder)) = multilingual(&self.models, own).filter(|_| unknown)
            && ui.button(format!("Switch to {name}")).on_hover_text("It reads about 100 languages").clicked()
        {
            actions.push(Action::OpenModel(folder.clone()));
        }
        if let Some(trouble) = self.conversation.trouble() {
            let error = ui.visuals().error_fg_color;
            ui.label(RichText::new(format!("⚠ {trouble}")).color(error));
        }
    }
}

/// A model of many languages that was found and is not in use.
pub(super) fn multilingual<'a>(
    models: &'a [(String, PathBuf)],
    own: Option<&ModelInfo>,
) -> Option<&'a (String, PathBuf)> {
    let own = own.map(|model| model.folder.as_path());
    models.iter().find(|(name, folder)| name.contains("multilingual") && Some(folder.as_path()) != own)
}

/// How far the opening of a model has come.
fn far(loading: &Loading) -> String {
    let name = loading.name();
    let megabytes = |bytes: usize| bytes as f64 / 1e6;
    match &loading.progress {
        _ if loading.given_up => format!("giving up {name}…"),
        Some(Progress { done, total, .. }) if done < total => {
            format!("opening {name}: {:.0} of {:.0} MB", megabytes(*done), megabytes(*total))
        }
        Some(_) => format!("opening {name}: its tokenizer…"),
        None => format!("opening {name}…"),
    }
}

/// A model in a few lines.
fn describe(model: &ModelInfo) -> String {
    let tasks: Vec<&str> = model.tasks.iter().map(|info| info.task.name()).collect();
    let tasks = if tasks.is_empty() { "no task head".to_owned() } else { tasks.join(", ") };
    let report = &model.report;
    let mut more = Vec::new();
    more.extend(model.note.clone());
    let mut count = |what: &str, count: usize| {
        if count > 0 {
            more.push(format!("{count} {what}"));
        }
    };
    count("weights under older names", report.renamed.len());
    count("tensors that nothing uses", report.unused.len());
    count("weights with numbers that are infinite or none", report.not_finite.len());
    let more: String = more.iter().map(|line| format!("\n{line}")).collect();
    format!(
        "{}\n{}, {} layers × {} heads, hidden size {}\n{tasks}\nsentence vector: {}{more}",
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
