//! The dialog that asks for a file. Systems without a file dialog of their own have the path field.

use std::path::{Path, PathBuf};

use egui::{TextEdit, Ui, Window};

use super::action::Action;
use super::lang::tr;
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
            Self::Dialog(Asks::Picture | Asks::Comparison | Asks::Curves) => (tr!("Pictures"), &["png", "svg"]),
            Self::Dialog(Asks::SaveSession | Asks::OpenSession) => (tr!("Sessions"), &["json"]),
            Self::Texts | Self::Sentences | Self::Dialog(Asks::Corpus(_)) => (tr!("Texts"), &["txt", "tsv"]),
            Self::Pruned | Self::Dialog(Asks::OpenModel) => (tr!("Model folders"), &[]),
        }
    }
}

pub struct FileDialog {
    pub asks: Asks,
    pub path: String,
    /// It has not been shown yet: its field gets the focus, so that Enter takes the path.
    fresh: bool,
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
        Self { asks, path, fresh: true }
    }

    pub fn show(&mut self, ui: &Ui) -> Option<Decision> {
        let (title, label, button) = match self.asks {
            Asks::Picture => (tr!("Export picture"), tr!("File (.png or .svg)"), tr!("Export")),
            Asks::Comparison => (tr!("Export comparison"), tr!("File (.png or .svg)"), tr!("Export")),
            Asks::Curves => (tr!("Export curves"), tr!("File (.png or .svg)"), tr!("Export")),
            Asks::SaveSession => (tr!("Save session"), tr!("File (.json)"), tr!("Save")),
            Asks::OpenSession => (tr!("Open session"), tr!("File (.json)"), tr!("Open")),
            Asks::OpenModel => (tr!("Open model"), tr!("Folder with config.json and weights"), tr!("Open")),
            Asks::Corpus(_) => (tr!("Mean over a text file"), tr!("Text file, one text a line"), tr!("Use")),
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
                if std::mem::take(&mut self.fresh) {
                    field.request_focus();
                }
                let entered = field.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
                ui.horizontal(|ui| {
                    if ui.button(button).clicked() || entered {
                        decision = Some(Decision::Take(self.asks.clone(), PathBuf::from(self.path.trim())));
                    }
                    if ui.button(tr!("Browse…")).clicked() {
                        decision = Some(Decision::Browse(self.asks.clone(), PathBuf::from(self.path.trim())));
                    }
                    if ui.button(tr!("Cancel")).clicked() || ui.input(|input| input.key_pressed(egui::Key::Escape)) {
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
        if ui.button(tr!("Browse…")).clicked() {
            actions.push(Action::Browse(field, Path::new(path.trim()).to_owned()));
        }
    });
}
