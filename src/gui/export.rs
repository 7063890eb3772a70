//! Work that is too slow for a frame: drawing figures, writing files, asking for a path, comparing runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use egui::{ColorImage, Context, TextEdit, Ui, Window};
use ndarray::Array2;

use crate::figure::{FigureError, FileKind, HeatmapFigure};
use crate::metrics::movement;
use crate::run::{Run, ViewSpec, one_line};

/// Pixels for each hundredth of an inch.
const SCALE: f32 = 2.0;

/// What came of a piece of work.
pub enum Finished {
    /// A picture for the clipboard.
    Picture(ColorImage),
    /// How far each head of an edited run moved from the plain one, `[layer, head]`.
    Movement(Arc<Run>, Array2<f32>),
    Written(PathBuf),
    /// The path that the reader chose in the system's dialog.
    Chosen(PathBuf),
    Failed(String),
}

/// Works on threads of its own, so that the window never waits.
pub struct Workshop {
    sender: Sender<Finished>,
    finished: Receiver<Finished>,
}

impl Default for Workshop {
    fn default() -> Self {
        let (sender, finished) = channel();
        Self { sender, finished }
    }
}

impl Workshop {
    /// What has been finished since the last call.
    pub fn finished(&self) -> Vec<Finished> {
        self.finished.try_iter().collect()
    }

    /// Draws a picture for the clipboard.
    pub fn draw(&self, ctx: &Context, run: Arc<Run>, view: ViewSpec) {
        self.start(ctx, move || {
            let drawn = HeatmapFigure::new(&run, &view).draw().and_then(|figure| figure.to_pixels(SCALE));
            Some(match drawn {
                Ok(pixels) => {
                    let size = [pixels.width, pixels.height];
                    Finished::Picture(ColorImage::from_rgba_premultiplied(size, &pixels.rgba))
                }
                Err(error) => Finished::Failed(one_line(&error)),
            })
        });
    }

    /// Finds how far each head of an edited run moved from the plain one.
    pub fn compare(&self, ctx: &Context, plain: Arc<Run>, edited: Arc<Run>) {
        self.start(ctx, move || {
            movement(&plain.attention, &edited.attention).map(|moved| Finished::Movement(edited, moved))
        });
    }

    /// Draws a picture into a file; its ending says whether as PNG or SVG.
    pub fn write(&self, ctx: &Context, run: Arc<Run>, view: ViewSpec, path: PathBuf) {
        self.start(ctx, move || {
            Some(match write_figure(&run, &view, &path) {
                Ok(()) => Finished::Written(path),
                Err(error) => Finished::Failed(one_line(&error)),
            })
        });
    }

    /// Opens the system's own file dialog.
    pub fn ask_for_path(&self, ctx: &Context, suggested: &Path) {
        let name = suggested.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let dialog = rfd::FileDialog::new().set_file_name(name).add_filter("Pictures", &["png", "svg"]);
        self.start(ctx, move || dialog.save_file().map(Finished::Chosen));
    }

    fn start(&self, ctx: &Context, work: impl FnOnce() -> Option<Finished> + Send + 'static) {
        let (ctx, sender) = (ctx.clone(), self.sender.clone());
        std::thread::spawn(move || {
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            let outcome = outcome.unwrap_or_else(|_| Some(Finished::Failed("an internal fault stopped this".into())));
            if let Some(outcome) = outcome {
                sender.send(outcome).ok();
                ctx.request_repaint();
            }
        });
    }
}

fn write_figure(run: &Run, view: &ViewSpec, path: &Path) -> Result<(), FigureError> {
    let kind = FileKind::of(path)?;
    HeatmapFigure::new(run, view).draw()?.write(path, kind, SCALE)
}

/// The dialog that asks where a picture goes. Systems without a file dialog have the path field.
pub struct ExportDialog {
    pub path: String,
}

/// What the reader decided.
pub enum Decision {
    Write(PathBuf),
    Browse(PathBuf),
    Close,
}

impl ExportDialog {
    pub fn new(view: &ViewSpec) -> Self {
        let folder = std::env::current_dir().unwrap_or_default();
        Self { path: folder.join(view.file_name()).display().to_string() }
    }

    pub fn show(&mut self, ui: &Ui) -> Option<Decision> {
        let mut decision = None;
        let mut open = true;
        Window::new("Export picture")
            .anchor(egui::Align2::RIGHT_TOP, [-16.0, 130.0])
            .collapsible(false)
            .resizable(false)
            .open(&mut open)
            .show(ui.ctx(), |ui| {
                let label = ui.label("File (.png or .svg)");
                let field = ui.add(TextEdit::singleline(&mut self.path).desired_width(420.0)).labelled_by(label.id);
                let entered = field.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
                ui.horizontal(|ui| {
                    if ui.button("Export").clicked() || entered {
                        decision = Some(Decision::Write(PathBuf::from(self.path.trim())));
                    }
                    if ui.button("Browse…").clicked() {
                        decision = Some(Decision::Browse(PathBuf::from(self.path.trim())));
                    }
                    if ui.button("Cancel").clicked() || ui.input(|input| input.key_pressed(egui::Key::Escape)) {
                        decision = Some(Decision::Close);
                    }
                });
            });
        if open { decision } else { Some(Decision::Close) }
    }
}
