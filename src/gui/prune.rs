//! The window that removes heads for good.

use std::collections::BTreeSet;
use std::path::PathBuf;

use egui::{RichText, TextEdit, Ui, Window};

use super::action::Action;
use super::conversation::Conversation;
use super::file_dialog::{Field, in_current_folder, path_row};
use super::lang::tr;
use super::ranking;
use crate::engine::Experiment;
use crate::lab::{Prune, PrunedShape};
use crate::run::{HeadId, HeadPattern, ModelInfo};

/// The window with what it remembers between frames.
#[derive(Default)]
pub struct PruneWindow {
    pub open: bool,
    /// As on the command line: `0.1,3.4`.
    heads: String,
    same_shape: bool,
    /// The folder to write.
    pub out: String,
}

impl PruneWindow {
    /// Opens it for some heads.
    pub fn offer(&mut self, heads: impl IntoIterator<Item = HeadId>, model: Option<&ModelInfo>) {
        let heads: Vec<String> = heads.into_iter().map(|head| head.to_string()).collect();
        self.heads = heads.join(",");
        if self.out.is_empty() {
            let name = model.map_or("model", |model| model.name.as_str());
            self.out = in_current_folder(&format!("{name}-pruned"));
        }
        self.open = true;
    }

    /// The experiment that the fields describe.
    ///
    /// # Errors
    /// What is wrong with them, in a sentence.
    pub fn make(&self, model: Option<&ModelInfo>) -> Result<Box<dyn Experiment>, String> {
        let model = model.ok_or(tr!("no model is open"))?;
        let mut heads = BTreeSet::new();
        for word in self.heads.split([',', ' ']).filter(|word| !word.is_empty()) {
            let pattern: HeadPattern = word.parse().map_err(|error| format!("{error}"))?;
            heads.extend(pattern.among(model.layers, model.heads).map_err(|error| error.to_string())?);
        }
        if heads.is_empty() {
            return Err(tr!("there is no head to remove: name some, as in 0.1,3.4").into());
        }
        if self.out.trim().is_empty() {
            return Err(tr!("there is no folder to write: name one").into());
        }
        let shape = if self.same_shape { PrunedShape::Same } else { PrunedShape::Compact };
        Ok(Box::new(Prune { heads, shape, out: PathBuf::from(self.out.trim()) }))
    }

    pub fn show(&mut self, ui: &Ui, conversation: &Conversation, actions: &mut Vec<Action>) {
        let mut open = self.open;
        Window::new(tr!("Prune heads for good")).default_pos([592.0, 150.0]).resizable(false).open(&mut open).show(
            ui.ctx(),
            |ui| {
                ui.label(tr!("Writes a copy of the model without these heads; the model that is open stays as it is."));
                ui.horizontal(|ui| {
                    let label = ui
                        .label(tr!("Heads to remove"))
                        .on_hover_text(tr!("With commas between; 3.* is a layer, *.4 a column"));
                    ui.add(TextEdit::singleline(&mut self.heads).desired_width(320.0)).labelled_by(label.id);
                });
                path_row(ui, tr!("Folder to write"), Field::Pruned, &mut self.out, actions);
                ui.radio_value(
                    &mut self.same_shape,
                    false,
                    tr!("Compact: rows and columns are gone; transformers 5 does not read it"),
                );
                ui.radio_value(
                    &mut self.same_shape,
                    true,
                    tr!("Same shape: columns of W_O are 0; every version reads it"),
                );
                ui.horizontal(|ui| match conversation.experiment() {
                    Some(progress) => ranking::running(ui, progress, actions),
                    None => {
                        if ui.button(tr!("Prune")).clicked() {
                            actions.push(Action::Prune);
                        }
                    }
                });
                if let Some(trouble) = conversation.experiment_trouble() {
                    ui.label(RichText::new(format!("⚠ {trouble}")).color(ui.visuals().error_fg_color));
                }
                if let Some(found) = conversation.pruned() {
                    ui.separator();
                    let written = found.spec.out.display();
                    ui.label(
                        RichText::new(tr!(
                            "Written: %{written}, without %{a}",
                            written = written,
                            a = count(found.spec.heads.len())
                        ))
                        .strong(),
                    );
                    for line in found.report() {
                        ui.label(line);
                    }
                    if ui.button(tr!("Open it")).on_hover_text(tr!("Work with the pruned model")).clicked() {
                        actions.push(Action::OpenModel(found.spec.out.clone()));
                    }
                }
            },
        );
        self.open = open;
    }
}

fn count(heads: usize) -> String {
    if heads == 1 { tr!("1 head").to_owned() } else { tr!("%{heads} heads", heads = heads) }
}
