//! The dialog that asks for a file. Systems without a file dialog of their own have the path field.

use std::path::{Path, PathBuf};

use egui::{TextEdit, Ui, Window};

use super::action::Action;
use crate::run::HeadPattern;

/// What a path is wanted for.
#[derive(Debug, Clone, PartialEq)]
pub enum Asks {
    Picture,
    Comparison,
    Curves,
    SaveSession,
    OpenSession,
    /// A model's folder, or a file of its weights.
    OpenModel,
    /// A text file over which heads take their mean.
    Corpus(Vec<HeadPattern>),
}

/// A place for a path: in the dialog, or in a window that has more to say.
#[derive(Debug, Clone, PartialEq)]
pub enum Field {
    Dialog(Asks),
    /// The texts that heads are ranked on.
    Texts,
    /// The sentences among which the nearest are sought.
    Sentences,
    /// The folder that pruning writes.
    Pruned,
}

impl Field {
    /// A file is written there, not read.
    pub fn saves(&self) -> bool {
        matches!(self, Self::Pruned | Self::Dialog(Asks::Picture | Asks::Comparison | Asks::Curves | Asks::SaveSession))
    }

    /// What the system's dialog offers, and its endings.
    pub fn kind(&self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::Dialog(Asks::Picture | Asks::Comparison | Asks::Curves) => ("Pictures", &["png", "svg"]),
            Self::Dialog(Asks::SaveSession | Asks::OpenSession) => ("Sessions", &["json"]),
            Self::Texts | Self::Sentences | Self::Dialog(Asks::Corpus(_)) => ("Texts", &["txt", "tsv"]),
            Self::Pruned | Self::Dialog(Asks::OpenModel) => ("Model folders", &[]),
        }
    }
}

pub struct FileDialog {
    pub asks: Asks,
    pub path: String,
}

/// What the reader decided.
pub enum Decision {
    Take(Asks, PathBuf),
    Browse(Asks, PathBuf),
    Close,
}

impl FileDialog {
    /// A dialog that suggests a name in the folder that the program was started in.
    pub fn new(asks: Asks, name: &str) -> Self {
        let path = if name.is_empty() { String::new() } else { in_current_folder(name) };
        Self { asks, path }
    }

    pub fn show(&mut self, ui: &Ui) -> Option<Decision> {
        let (title, label, button) = match self.asks {
            Asks::Picture => ("Export picture", "File (.png or .svg)", "Export"),
            Asks::Comparison => ("Export comparison", "File (.png or .svg)", "Export"),
            Asks::Curves => ("Export curves", "File (.png or .svg)", "Export"),
            Asks::SaveSession => ("Save session", "File (.json)", "Save"),
            Asks::OpenSession => ("Open session", "File (.json)", "Open"),
            Asks::OpenModel => ("Open model", "Folder with config.json and weights", "Open"),
            Asks::Corpus(_) => ("Mean over a text file", "Text file, one text a line", "Use"),
        };
        let mut decision = None;
        let mut open = true;
        Window::new(title)
            .anchor(egui::Align2::RIGHT_TOP, [-16.0, 130.0])
            .collapsible(false)
            .resizable(false)
            .open(&mut open)
            .show(ui.ctx(), |ui| {
                let label = ui.label(label);
                let field = ui.add(TextEdit::singleline(&mut self.path).desired_width(420.0)).labelled_by(label.id);
                let entered = field.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
                ui.horizontal(|ui| {
                    if ui.button(button).clicked() || entered {
                        decision = Some(Decision::Take(self.asks.clone(), PathBuf::from(self.path.trim())));
                    }
                    if ui.button("Browse…").clicked() {
                        decision = Some(Decision::Browse(self.asks.clone(), PathBuf::from(self.path.trim())));
                    }
                    if ui.button("Cancel").clicked() || ui.input(|input| input.key_pressed(egui::Key::Escape)) {
                        decision = Some(Decision::Close);
                    }
                });
            });
        if open { decision } else { Some(Decision::Close) }
    }
}

/// A name in the folder that the program was started in.
pub fn in_current_folder(name: &str) -> String {
    std::env::current_dir().unwrap_or_default().join(name).display().to_string()
}

/// A path field in a row, with a button for the system's dialog beside it.
pub fn path_row(ui: &mut Ui, name: &str, field: Field, path: &mut String, actions: &mut Vec<Action>) {
    ui.horizontal(|ui| {
        let label = ui.label(name);
        ui.add(TextEdit::singleline(path).desired_width(300.0)).labelled_by(label.id);
        if ui.button("Browse…").clicked() {
            actions.push(Action::Browse(field, Path::new(path.trim()).to_owned()));
        }
    });
}
