//! The window that fetches a model from the hub.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use egui::{ProgressBar, RichText, TextEdit, Ui, Window};

use super::action::Action;
use super::lang::tr;
use crate::hub::{Fetch, Fetched};

/// The window with what it remembers between frames.
#[derive(Default)]
pub struct HubWindow {
    pub open: bool,
    name: String,
    revision: String,
    running: Option<Running>,
    trouble: Option<String>,
}

/// A fetch under way.
struct Running {
    far: Option<Fetched>,
    wanted: Arc<AtomicBool>,
}

impl HubWindow {
    /// The fetch that the fields describe, and the flag that gives it up. `None` while another is under way.
    pub fn start(&mut self) -> Option<(Fetch, Arc<AtomicBool>)> {
        if self.running.is_some() {
            return None;
        }
        self.trouble = None;
        let wanted = Arc::new(AtomicBool::new(true));
        self.running = Some(Running { far: None, wanted: wanted.clone() });
        let revision = Some(self.revision.trim().to_owned()).filter(|revision| !revision.is_empty());
        Some((Fetch { model: self.name.trim().to_owned(), revision, ..Fetch::default() }, wanted))
    }

    pub fn give_up(&self) {
        if let Some(running) = &self.running {
            running.wanted.store(false, Ordering::Relaxed);
        }
    }

    pub fn tell(&mut self, far: Fetched) {
        if let Some(running) = &mut self.running {
            running.far = Some(far);
        }
    }

    /// The fetch has ended. Its folder, if it went well.
    pub fn end(&mut self, outcome: Result<PathBuf, String>) -> Option<PathBuf> {
        self.running = None;
        match outcome {
            Ok(folder) => {
                self.open = false;
                Some(folder)
            }
            Err(cause) => {
                self.trouble = Some(cause);
                None
            }
        }
    }

    pub fn show(&mut self, ui: &Ui, actions: &mut Vec<Action>) {
        let mut open = self.open;
        Window::new(tr!("Fetch a model")).default_pos([592.0, 110.0]).resizable(false).open(&mut open).show(
            ui.ctx(),
            |ui| {
                ui.label(tr!(
                    "From the Hugging Face hub, or the mirror in HF_ENDPOINT: weights, config and tokenizer."
                ));
                ui.horizontal(|ui| {
                    let label =
                        ui.label(tr!("Model")).on_hover_text(tr!("OWNER/NAME, or NAME alone, as in bert-base-uncased"));
                    ui.add(TextEdit::singleline(&mut self.name).desired_width(280.0)).labelled_by(label.id);
                });
                ui.horizontal(|ui| {
                    let label =
                        ui.label(tr!("Revision")).on_hover_text(tr!("A branch, tag or commit; main where it is empty"));
                    ui.add(TextEdit::singleline(&mut self.revision).hint_text("main").desired_width(160.0))
                        .labelled_by(label.id);
                });
                match &self.running {
                    None => {
                        if ui.button(tr!("Fetch")).clicked() {
                            actions.push(Action::FetchModel);
                        }
                    }
                    Some(running) => {
                        let (share, text) = match &running.far {
                            None => (0.0, tr!("asking the hub…").to_owned()),
                            Some(far) => {
                                let megabytes = |bytes: u64| bytes as f64 / 1e6;
                                let (file, of) = (far.files.0 + 1, far.files.1);
                                let (done, all) = (megabytes(far.bytes), megabytes(far.of));
                                let text = format!("{} ({file} of {of}): {done:.1} of {all:.1} MB", far.file);
                                (far.bytes as f32 / far.of.max(1) as f32, text)
                            }
                        };
                        ui.add(ProgressBar::new(share).desired_width(360.0).text(text));
                        if ui
                            .button(tr!("Give up"))
                            .on_hover_text(tr!("What has come is kept, and gone on with later"))
                            .clicked()
                        {
                            actions.push(Action::GiveUpFetching);
                        }
                    }
                }
                if let Some(trouble) = &self.trouble {
                    ui.label(RichText::new(format!("⚠ {trouble}")).color(ui.visuals().error_fg_color));
                }
            },
        );
        self.open = open;
    }
}
