//! The status line and the notices above the map.

use std::path::PathBuf;
use std::sync::Arc;

use egui::{RichText, ScrollArea, Ui, Window};

use super::action::Action;
use super::app::HeadlightApp;
use super::command::Command;
use super::conversation::Loading;
use super::lang::tr;
use super::notes::notices;
use crate::engine::Progress;
use crate::run::ModelInfo;

impl HeadlightApp {
    pub(super) fn show_status(&self, ui: &mut Ui, actions: &mut Vec<Action>) {
        ui.horizontal(|ui| {
            self.model_menu(ui, actions);
            if let Some(run) = self.conversation.run() {
                ui.separator();
                let tokens = run.attention.tokens();
                ui.label(tr!("%{tokens} tokens", tokens = tokens));
                ui.separator();
                ui.label(tr!("%{a} ms", a = format!("{:.1}", run.elapsed.as_secs_f64() * 1e3)))
                    .on_hover_text(tr!("Wall-clock of the last forward pass, from tokens to captured attention"));
            }
            if self.conversation.updating() {
                ui.separator();
                match self.conversation.preparing() {
                    Some(progress) => {
                        ui.label(tr!("mean over a text file: %{a} of %{b}", a = progress.done, b = progress.total))
                            .on_hover_text(tr!("Undo takes the edit back that needs it"));
                    }
                    None => {
                        ui.label(tr!("updating…"));
                    }
                }
            }
            let edits = self.surgery.active().len();
            if edits > 0 {
                ui.separator();
                ui.label(if edits == 1 { tr!("1 edit").to_owned() } else { tr!("%{edits} edits", edits = edits) });
            }
        });
    }

    /// The model's name, under which others are offered.
    fn model_menu(&self, ui: &mut Ui, actions: &mut Vec<Action>) {
        let name = self.conversation.model().map_or(tr!("no model"), |model| model.name.as_str());
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
            for command in [Command::AboutModel, Command::FetchModel, Command::OpenModel] {
                if self.can(command) && command.button(ui, true, actions).clicked() {
                    ui.close();
                }
            }
        });
        if let Some(model) = self.conversation.model() {
            menu.response.on_hover_text(describe(model));
        }
        if let Some(loading) = self.conversation.loading() {
            ui.separator();
            ui.label(far(loading));
            let button = ui.add_enabled(!loading.given_up, egui::Button::new(tr!("Cancel")));
            if button.on_hover_text(tr!("Stay with the model in use")).clicked() {
                actions.push(Action::CancelLoading);
            }
        }
    }

    /// What is known of the model that is open, its load report included.
    pub(super) fn show_model(&self, ui: &Ui, actions: &mut Vec<Action>) {
        let mut open = true;
        Window::new(tr!("About the model")).default_pos([592.0, 110.0]).open(&mut open).show(ui.ctx(), |ui| {
            let Some(model) = self.conversation.model() else { return };
            ui.label(describe(model));
            let report = &model.report;
            ui.label(tr!("files: %{a}", a = report.files.join(", ")));
            if report.foreign_head {
                ui.label(tr!(
                    "Its task head lies beside the encoder as in no class of transformers: its own program may read it otherwise."
                ));
            }
            ScrollArea::vertical().max_height(300.0).show(ui, |ui| {
                let renamed = report
                    .renamed
                    .iter()
                    .map(|(asked, found)| tr!("%{found}, read as %{asked}", found = found, asked = asked));
                let off = report.wrappers.iter().cloned();
                for (title, lines) in [
                    (tr!("Weights that the file lacks"), report.missing.clone()),
                    (tr!("Taken off the names of weights"), off.collect()),
                    (tr!("Settings"), report.settings.clone()),
                    (tr!("Weights under older names"), renamed.collect::<Vec<_>>()),
                    (tr!("Tensors that nothing uses"), report.unused.clone()),
                    (tr!("Weights with numbers that are infinite or none"), report.not_finite.clone()),
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
        let notices = self.shown().map(|run| notices(run)).unwrap_or_default();
        let warning = ui.visuals().warn_fg_color;
        for notice in notices {
            ui.label(RichText::new(format!("⚠ {notice}")).color(warning));
        }
        let unknown =
            self.shown().and_then(|run| run.input.unknown()).is_some_and(|unknown| unknown.wants_another_model());
        let own = self.conversation.model().map(Arc::as_ref);
        if let Some((name, folder)) = multilingual(&self.models, own).filter(|_| unknown)
            && ui
                .button(tr!("Switch to %{name}", name = name))
                .on_hover_text(tr!("It reads about 100 languages"))
                .clicked()
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
        _ if loading.given_up => tr!("giving up %{name}…", name = name),
        Some(Progress { done, total, .. }) if done < total => {
            tr!(
                "opening %{name}: %{a} of %{b} MB",
                name = name,
                a = format!("{:.0}", megabytes(*done)),
                b = format!("{:.0}", megabytes(*total))
            )
        }
        Some(_) => tr!("opening %{name}: its tokenizer…", name = name),
        None => tr!("opening %{name}…", name = name),
    }
}

/// A model in a few lines.
fn describe(model: &ModelInfo) -> String {
    let tasks: Vec<&str> = model.tasks.iter().map(|info| info.task.name()).collect();
    let tasks = if tasks.is_empty() { tr!("no task head").to_owned() } else { tasks.join(", ") };
    let report = &model.report;
    let mut more = Vec::new();
    more.extend(model.note.clone());
    let mut count = |what: &str, count: usize| {
        if count > 0 {
            more.push(format!("{count} {what}"));
        }
    };
    count(tr!("weights under older names"), report.renamed.len());
    count(tr!("weights that the file lacks"), report.missing.len());
    count(tr!("tensors that nothing uses"), report.unused.len());
    count(tr!("weights with numbers that are infinite or none"), report.not_finite.len());
    let more: String = more.iter().map(|line| format!("\n{line}")).collect();
    tr!(
        "%{a}\n%{b}, %{c} layers × %{d} heads, hidden size %{e}\n%{tasks}\nsentence vector: %{f}%{more}",
        a = model.folder.display(),
        b = model.family,
        c = model.layers,
        d = model.heads,
        e = model.hidden,
        tasks = tasks,
        f = model.pooling.describe(),
        more = more
    )
}

/// The menu of sessions.
pub fn session_menu(ui: &mut Ui, actions: &mut Vec<Action>) {
    ui.menu_button(tr!("Session"), |ui| {
        for command in [Command::OpenSession, Command::SaveSession] {
            if command.button(ui, true, actions).clicked() {
                ui.close();
            }
        }
    });
}
