//! Work that is too slow for a frame: drawing figures, writing files, asking for a path, comparing runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use egui::{ColorImage, Context};
use ndarray::Array2;

use super::file_dialog::{Asks, Field};
use super::lanes::Lanes;
use super::lang::tr;
use super::thumbnails::{self, ThumbnailsKey};
use crate::figure::{CurvesFigure, FigureError, FileKind, HeatmapFigure, Svg};
use crate::hub::{Fetch, Fetched};
use crate::metrics::{HeadMetric, movement};
use crate::run::{Run, ViewSpec, one_line};

/// Pixels for each hundredth of an inch.
pub const SCALE: f32 = 2.0;

/// What came of a piece of work.
pub enum Finished {
    /// A picture for the clipboard.
    Picture(ColorImage),
    /// How far each head of an edited run moved from the plain one, `[layer, head]`.
    Movement(Arc<Run>, Array2<f32>),
    /// Curves as a picture for the screen.
    Curves(Arc<CurvesFigure>, ColorImage),
    Written(PathBuf),
    /// How far a model has come that is being fetched.
    Fetching(Fetched),
    /// The folder of a model that was fetched, or why it was not.
    Fetched(Result<PathBuf, String>),
    /// The path that the reader chose in the system's dialog, and for what.
    Chosen(Field, PathBuf),
    /// Thumbnails of all heads.
    Thumbnails(ThumbnailsKey, ColorImage),
    /// A number for each head of a run.
    Measured(Arc<Run>, HeadMetric, Array2<f32>),
    Failed(String),
}

/// Kinds of work: of each, one piece is done at a time and the latest waits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Kind {
    Picture,
    Movement,
    Curves,
    Thumbnails,
    Measure,
    /// Each file by itself: none is passed over for another.
    File(PathBuf),
    Fetch,
    Path,
}

/// Works on threads of its own, so that the window never waits.
pub struct Workshop {
    sender: Sender<Finished>,
    finished: Receiver<Finished>,
    lanes: Lanes<Kind>,
    /// A number for each head is being found.
    measuring: bool,
}

impl Default for Workshop {
    fn default() -> Self {
        let (sender, finished) = channel();
        Self { sender, finished, lanes: Lanes::default(), measuring: false }
    }
}

impl Workshop {
    /// How many pieces of work are under way or wait. A dialog is none: it waits for the reader.
    pub fn held(&self) -> usize {
        self.lanes.held(|kind| *kind != Kind::Path)
    }

    /// What has been finished since the last call.
    pub fn finished(&self) -> Vec<Finished> {
        self.finished.try_iter().collect()
    }

    /// The number for each head has come.
    pub fn measured(&mut self) {
        self.measuring = false;
    }

    /// Draws a picture for the clipboard.
    pub fn draw(&self, ctx: &Context, run: Arc<Run>, view: ViewSpec) {
        self.start(ctx, Kind::Picture, move || {
            Some(match image(HeatmapFigure::new(&run, &view).draw(), SCALE) {
                Ok(image) => Finished::Picture(image),
                Err(error) => Finished::Failed(one_line(&error)),
            })
        });
    }

    /// Draws curves for the screen, `scale` pixels for each hundredth of an inch.
    pub fn draw_curves(&self, ctx: &Context, figure: Arc<CurvesFigure>, scale: f32) {
        self.start(ctx, Kind::Curves, move || {
            Some(match image(figure.draw(), scale) {
                Ok(image) => Finished::Curves(figure, image),
                Err(error) => Finished::Failed(one_line(&error)),
            })
        });
    }

    /// Finds how far each head of an edited run moved from the plain one.
    pub fn compare(&self, ctx: &Context, plain: Arc<Run>, edited: Arc<Run>) {
        self.start(ctx, Kind::Movement, move || {
            movement(&plain.attention, &edited.attention).map(|moved| Finished::Movement(edited, moved))
        });
    }

    /// Paints the thumbnails of all heads.
    pub fn paint_thumbnails(&self, ctx: &Context, key: ThumbnailsKey) {
        self.start(ctx, Kind::Thumbnails, move || {
            let image = thumbnails::paint(&key);
            Some(Finished::Thumbnails(key, image))
        });
    }

    /// Finds a number for each head, unless one is being found.
    pub fn measure_once(&mut self, ctx: &Context, run: &Arc<Run>, metric: HeadMetric) {
        if std::mem::replace(&mut self.measuring, true) {
            return;
        }
        let run = run.clone();
        self.start(ctx, Kind::Measure, move || {
            let values = metric.of_all(&run.attention, &run.input);
            Some(Finished::Measured(run, metric, values))
        });
    }

    /// Draws a figure into a file; its ending says whether as PNG or SVG.
    pub fn write_figure(
        &self,
        ctx: &Context,
        path: PathBuf,
        draw: impl FnOnce() -> Result<Svg, FigureError> + Send + 'static,
    ) {
        self.start(ctx, Kind::File(path.clone()), move || {
            let written = FileKind::of(&path).and_then(|kind| draw()?.write(&path, kind, SCALE));
            Some(match written {
                Ok(()) => Finished::Written(path),
                Err(error) => Finished::Failed(one_line(&error)),
            })
        });
    }

    /// Fetches a model from the hub while it is wanted.
    pub fn fetch(&self, ctx: &Context, fetch: Fetch, wanted: Arc<AtomicBool>) {
        let (sender, repaint) = (self.sender.clone(), ctx.clone());
        self.start(ctx, Kind::Fetch, move || {
            let outcome = fetch.run(&mut |far| {
                sender.send(Finished::Fetching(far.clone())).ok();
                repaint.request_repaint_after(Duration::from_millis(100));
                wanted.load(Ordering::Relaxed)
            });
            Some(Finished::Fetched(outcome.map_err(|error| one_line(&error))))
        });
    }

    /// Opens the system's own file dialog, unless one is open.
    pub fn ask_for_path(&self, ctx: &Context, field: Field, suggested: &Path) {
        if self.lanes.is_busy(&Kind::Path) {
            return;
        }
        let name = suggested.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (kind, endings) = field.kind();
        let (saves, folder) = (field.saves(), field == Field::Dialog(Asks::OpenModel));
        let mut dialog = rfd::FileDialog::new();
        if !endings.is_empty() {
            dialog = dialog.add_filter(kind, endings);
        }
        if saves {
            dialog = dialog.set_file_name(name);
        }
        self.start(ctx, Kind::Path, move || {
            let chosen = match (saves, folder) {
                (true, _) => dialog.save_file(),
                (false, true) => dialog.pick_folder(),
                (false, false) => dialog.pick_file(),
            };
            chosen.map(|path| Finished::Chosen(field, path))
        });
    }

    fn start(&self, ctx: &Context, kind: Kind, work: impl FnOnce() -> Option<Finished> + Send + 'static) {
        let (ctx, sender) = (ctx.clone(), self.sender.clone());
        self.lanes.start(kind, move || {
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            let outcome =
                outcome.unwrap_or_else(|_| Some(Finished::Failed(tr!("an internal fault stopped this").into())));
            if let Some(outcome) = outcome {
                sender.send(outcome).ok();
                ctx.request_repaint();
            }
        });
    }
}

fn image(drawn: Result<Svg, FigureError>, scale: f32) -> Result<ColorImage, FigureError> {
    let pixels = drawn?.to_pixels(scale)?;
    Ok(ColorImage::from_rgba_premultiplied([pixels.width, pixels.height], &pixels.rgba))
}
