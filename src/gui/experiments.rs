//! The window that ranks heads on texts of the reader's choice, by a measure of their choice, and draws pruning curves.

use std::path::PathBuf;
use std::sync::Arc;

use egui::{ColorImage, ComboBox, DragValue, RichText, TextEdit, TextureHandle, TextureOptions, Ui, Window, vec2};

use super::action::Action;
use super::conversation::Conversation;
use super::file_dialog::{Field, path_row};
use super::lang::tr;
use super::ranking;
use crate::engine::Experiment;
use crate::figure::{CurvesFigure, Line};
use crate::lab::{Curve, Example, GradientImportance, LeaveOneOut, PruningCurve, PruningCurveOutcome, Target};
use crate::run::{ModelInfo, Task, Texts, one_line, read_lines};

/// Which experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    LeaveOneOut,
    Gradient,
    Curve,
}

/// The kinds of target, before their details.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measure {
    Own,
    Similarity,
    Class,
    Word,
    Loss,
    Accuracy,
}

impl Measure {
    fn name(self) -> &'static str {
        match self {
            Self::Own => tr!("vector beside its plain one (self)"),
            Self::Similarity => tr!("similarity of pairs"),
            Self::Class => tr!("probability of a class"),
            Self::Word => tr!("probability of a word"),
            Self::Loss => tr!("loss"),
            Self::Accuracy => tr!("accuracy"),
        }
    }

    /// What a line of the file of texts holds.
    fn line(self) -> &'static str {
        match self {
            Self::Own | Self::Class | Self::Word => tr!("one text a line; a tab makes a pair"),
            Self::Similarity => tr!("one pair a line, a tab between"),
            Self::Loss | Self::Accuracy => tr!("a text, a tab and the right answer a line"),
        }
    }

    /// Those that a model can serve.
    fn of(model: &ModelInfo) -> Vec<Self> {
        let mut all = vec![Self::Own, Self::Similarity];
        if model.task(Task::SequenceClassification).is_some() {
            all.push(Self::Class);
        }
        if model.task(Task::MaskedLm).is_some() {
            all.push(Self::Word);
        }
        if model.tasks.first().is_some_and(|info| info.task != Task::NextSentence) {
            all.extend([Self::Loss, Self::Accuracy]);
        }
        all
    }
}

/// The window with what it remembers between frames.
pub struct Experiments {
    pub open: bool,
    /// A text file; empty for the text that is typed.
    pub texts: String,
    measure: Measure,
    class: String,
    word: (usize, String),
    seed: u64,
    /// Percent of the target's plain value.
    stop: f32,
    drawn: Option<Drawn>,
    /// The figure that is being drawn.
    awaited: Option<Arc<CurvesFigure>>,
}

struct Drawn {
    figure: Arc<CurvesFigure>,
    texture: TextureHandle,
}

impl Default for Experiments {
    fn default() -> Self {
        Self {
            open: false,
            texts: String::new(),
            measure: Measure::Own,
            class: String::new(),
            word: (1, String::new()),
            seed: 1,
            stop: 1.0,
            drawn: None,
            awaited: None,
        }
    }
}

/// Width of the curves on the screen, in points.
const WIDTH: f32 = 620.0;

impl Experiments {
    /// The experiment that the fields describe.
    ///
    /// # Errors
    /// What is missing, in a sentence.
    pub fn make(&self, kind: Kind, typed: Texts, model: Option<&ModelInfo>) -> Result<Box<dyn Experiment>, String> {
        let target = self.target();
        let examples = Arc::new(self.examples(&target, typed, model)?);
        Ok(match kind {
            Kind::LeaveOneOut => Box::new(LeaveOneOut { examples, target }),
            Kind::Gradient => Box::new(GradientImportance { examples, target }),
            Kind::Curve => Box::new(PruningCurve { examples, target, seed: self.seed }),
        })
    }

    fn target(&self) -> Target {
        match self.measure {
            Measure::Own => Target::Own,
            Measure::Similarity => Target::Similarity,
            Measure::Class => Target::Class(self.class.clone()),
            Measure::Word => Target::Word { token: self.word.0, piece: self.word.1.trim().to_owned() },
            Measure::Loss => Target::Loss,
            Measure::Accuracy => Target::Accuracy,
        }
    }

    fn examples(&self, target: &Target, typed: Texts, model: Option<&ModelInfo>) -> Result<Vec<Example>, String> {
        let path = PathBuf::from(self.texts.trim());
        if path.as_os_str().is_empty() {
            if target.needs_answers() {
                return Err(tr!("the measure %{target} needs a file of texts with the right answers", target = target));
            }
            if *target == Target::Similarity && typed.b.is_none() {
                return Err(tr!("similarity needs a second sentence, or a file of pairs").into());
            }
            return Ok(vec![typed.into()]);
        }
        let main = model.and_then(|model| model.tasks.first()).map(|info| info.task);
        let lines = read_lines(&path).map_err(|error| one_line(&error))?;
        let example = |(number, line): (usize, String)| {
            let example = Example::from_line(&line, target, main);
            example.map_err(|cause| {
                tr!("line %{number} of %{a} %{cause}", number = number, a = path.display(), cause = cause)
            })
        };
        lines.into_iter().map(example).collect()
    }

    /// The heads that the last curve spares within the stop rule, and that rule in percent.
    pub fn spared<'a>(&self, conversation: &'a Conversation) -> &'a [crate::run::HeadId] {
        conversation.curve().map(|found| found.spared(self.stop / 100.0)).unwrap_or_default()
    }

    /// A figure that was asked for has been drawn.
    pub fn receive(&mut self, ui: &egui::Context, figure: Arc<CurvesFigure>, image: ColorImage) {
        if self.awaited.as_ref().is_some_and(|awaited| Arc::ptr_eq(awaited, &figure)) {
            self.awaited = None;
            let texture = ui.load_texture("pruning curves", image, TextureOptions::LINEAR);
            self.drawn = Some(Drawn { figure, texture });
        }
    }

    /// The figure that is shown.
    pub fn figure(&self) -> Option<&Arc<CurvesFigure>> {
        self.drawn.as_ref().map(|drawn| &drawn.figure)
    }

    pub fn show(&mut self, ui: &Ui, conversation: &Conversation, actions: &mut Vec<Action>) {
        let mut open = self.open;
        Window::new(tr!("Experiments on heads")).default_pos([592.0, 110.0]).resizable(false).open(&mut open).show(
            ui.ctx(),
            |ui| {
                self.show_choices(ui, conversation.model().map(AsRef::as_ref), actions);
                ui.separator();
                ui.horizontal(|ui| match conversation.experiment() {
                    Some(progress) => ranking::running(ui, progress, actions),
                    None => {
                        let mut button = |name: &str, help: &str, kind| {
                            if ui.button(name).on_hover_text(help).clicked() {
                                actions.push(Action::StartExperiment(kind));
                            }
                        };
                        button(
                            tr!("Leave one out"),
                            tr!("Switch each head off by itself; the grid shows what each one is worth"),
                            Kind::LeaveOneOut,
                        );
                        button(
                            tr!("Gradients"),
                            tr!("How sensitive the measure is to each head (Michel et al. 2019); the grid shows it"),
                            Kind::Gradient,
                        );
                        button(
                            tr!("Pruning curve"),
                            tr!("Switch heads off one after the other, in three orders"),
                            Kind::Curve,
                        );
                    }
                });
                if let Some(trouble) = conversation.experiment_trouble() {
                    ui.label(RichText::new(format!("⚠ {trouble}")).color(ui.visuals().error_fg_color));
                }
                if let Some(found) = conversation.curve() {
                    ui.separator();
                    self.show_curve(ui, found, actions);
                }
            },
        );
        self.open = open;
    }

    fn show_choices(&mut self, ui: &mut Ui, model: Option<&ModelInfo>, actions: &mut Vec<Action>) {
        path_row(ui, tr!("Texts"), Field::Texts, &mut self.texts, actions);
        let note = if self.texts.trim().is_empty() {
            tr!("no file: the text that is typed").to_owned()
        } else {
            self.measure.line().to_owned()
        };
        ui.label(RichText::new(note).weak());
        let measures = model.map(Measure::of).unwrap_or_else(|| vec![Measure::Own]);
        if !measures.contains(&self.measure) {
            self.measure = Measure::Own;
        }
        ui.horizontal(|ui| {
            let label = ui.label(tr!("Measure"));
            let list = ComboBox::from_id_salt("measure").width(230.0).selected_text(self.measure.name());
            let list = list.show_ui(ui, |ui| {
                for measure in measures {
                    ui.selectable_value(&mut self.measure, measure, measure.name());
                }
            });
            list.response.labelled_by(label.id);
            match self.measure {
                Measure::Class => {
                    let labels = model.and_then(|model| model.task(Task::SequenceClassification));
                    let labels = labels.map(|info| info.labels.as_slice()).unwrap_or_default();
                    if !labels.contains(&self.class) {
                        self.class = labels.first().cloned().unwrap_or_default();
                    }
                    let label = ui.label(tr!("Class"));
                    let list = ComboBox::from_id_salt("class").selected_text(&self.class).show_ui(ui, |ui| {
                        for class in labels {
                            ui.selectable_value(&mut self.class, class.clone(), class);
                        }
                    });
                    list.response.labelled_by(label.id);
                }
                Measure::Word => {
                    let label = ui.label(tr!("Token")).on_hover_text(tr!("The token that is masked, counted from 0"));
                    ui.add(DragValue::new(&mut self.word.0).range(0..=100_000)).labelled_by(label.id);
                    let label =
                        ui.label(tr!("Piece")).on_hover_text(tr!("As the vocabulary writes it, such as cat or ##s"));
                    ui.add(TextEdit::singleline(&mut self.word.1).desired_width(90.0)).labelled_by(label.id);
                }
                _ => {}
            }
        });
        ui.horizontal(|ui| {
            let label = ui.label(tr!("Seed of the random order"));
            ui.add(DragValue::new(&mut self.seed)).labelled_by(label.id);
        });
    }

    fn show_curve(&mut self, ui: &mut Ui, found: &PruningCurveOutcome, actions: &mut Vec<Action>) {
        let spared = found.spared(self.stop / 100.0).len();
        ui.horizontal(|ui| {
            let label = ui
                .label(tr!("Lose at most"))
                .on_hover_text(tr!("The stop rule: how far the measure may go from its plain value"));
            let percent = DragValue::new(&mut self.stop).range(0.0..=100.0).speed(0.1).suffix(" %");
            ui.add(percent).labelled_by(label.id);
            ui.label(
                RichText::new(tr!(
                    "%{spared} of %{a} heads can go",
                    spared = spared,
                    a = found.importance.effect.len()
                ))
                .strong(),
            );
        });
        let wanted = figure(found, self.stop);
        let shown = self.drawn.as_ref().is_some_and(|drawn| *drawn.figure == wanted);
        let coming = self.awaited.as_ref().is_some_and(|awaited| **awaited == wanted);
        if !shown && !coming {
            let wanted = Arc::new(wanted);
            self.awaited = Some(wanted.clone());
            actions.push(Action::DrawCurves(wanted, WIDTH / 1000.0 * ui.pixels_per_point()));
        }
        if let Some(drawn) = &self.drawn {
            let image = egui::Image::new((drawn.texture.id(), vec2(WIDTH, WIDTH * 0.6)));
            ui.add(image.alt_text(tr!("Pruning curves")));
        }
        ui.horizontal(|ui| {
            let some = spared > 0;
            let off = ui.add_enabled(some, egui::Button::new(tr!("Switch these off")));
            if off.on_hover_text(tr!("Switch off the heads that can go; undo switches them on again")).clicked() {
                actions.push(Action::SwitchOffSpared);
            }
            let prune = ui.add_enabled(some, egui::Button::new(tr!("Prune these…")));
            if prune.on_hover_text(tr!("Write a model folder without the heads that can go")).clicked() {
                actions.push(Action::PruneSpared);
            }
            if ui.button(tr!("Export curves…")).on_hover_text(tr!("Write the curves to a PNG or SVG file")).clicked()
            {
                actions.push(Action::ExportCurves);
            }
        });
    }
}

fn figure(found: &PruningCurveOutcome, stop: f32) -> CurvesFigure {
    let line = |curve: &Curve| Line { name: curve.name.clone(), values: curve.values.clone() };
    let lines = found.sweep.curves.iter().map(line).collect();
    let spared = found.spared(stop / 100.0).len();
    CurvesFigure::pruning(&found.model, found.spec.target.describe(), found.spec.examples.len(), lines, (spared, stop))
}
