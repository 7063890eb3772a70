//! The window's state, what its drawing asks for, and how that is carried out.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use egui::{CentralPanel, Context, Key, Modifiers, Panel, RichText, Sides, Ui};
use ndarray::Array2;

use super::controls;
use super::conversation::Conversation;
use super::edits;
use super::export::{Decision, ExportDialog, Finished, Workshop};
use super::grid::{Grid, Shown};
use super::heatmap::Heatmap;
use super::output::{Output, Search};
use super::ranking;
use super::share::{self, Copied};
use super::surgery::Surgery;
use super::text_boxes::TextBoxes;
use crate::engine::Link;
use crate::lab::Nearest;
use crate::run::{ColorMap, Edit, HeadId, HeadPattern, MapRange, Recipe, Run, Texts, ViewSpec, one_line, read_lines};

/// What the window opens with.
#[derive(Debug, Clone)]
pub struct Opening {
    pub texts: Texts,
    /// The model's folder, or why there is none.
    pub model: Result<PathBuf, String>,
}

/// What drawing asks for; carried out once the frame is drawn.
#[derive(Debug, Clone)]
pub enum Action {
    Choose(HeadId),
    Copy(ViewSpec, Copied),
    OpenExport,
    ResetZoom,
    ToggleZero(HeadPattern),
    Edit(Edit),
    ToggleCut(Edit),
    Scale(HeadPattern, f32),
    /// Switches an edit off or on, by its place in the list.
    SwitchEdit(usize),
    RemoveEdit(usize),
    ClearEdits,
    Undo,
    Redo,
    /// Shows the plain model's run, or the edited one again.
    TogglePlain,
    /// Seeks the sentences of a text file that are nearest to the first text.
    FindNearest(PathBuf),
    CancelExperiment,
    /// Ranks heads by leave-one-out on the text that is typed.
    RankHeads,
    ShowEffects(bool),
}

/// The program's window.
pub struct HeadlightApp {
    conversation: Conversation,
    boxes: TextBoxes,
    view: ViewSpec,
    grid: Grid,
    heatmap: Heatmap,
    workshop: Workshop,
    output: Output,
    surgery: Surgery,
    /// The plain model's run is shown, whatever is edited.
    shows_plain: bool,
    /// The grid shows the effects that the ranking found in place of maps.
    shows_effects: bool,
    /// How far each head of a run moved from the plain one.
    movement: Option<(Arc<Run>, Array2<f32>)>,
    export: Option<ExportDialog>,
    /// What was done last, for the status line.
    news: Option<String>,
}

impl HeadlightApp {
    /// A window that talks to the engine at the other end of `link`.
    pub fn new(link: Link, opening: Opening) -> Self {
        let mut conversation = Conversation::new(link);
        match opening.model {
            Ok(folder) => conversation.load(folder),
            Err(cause) => conversation.report(cause),
        }
        Self {
            conversation,
            boxes: TextBoxes::new(opening.texts),
            view: ViewSpec::default(),
            grid: Grid::default(),
            heatmap: Heatmap::default(),
            workshop: Workshop::default(),
            output: Output::default(),
            surgery: Surgery::default(),
            shows_plain: false,
            shows_effects: false,
            movement: None,
            export: None,
            news: None,
        }
    }

    fn receive(&mut self, ctx: &Context) {
        if self.conversation.listen() {
            self.keep_head_within();
            if let (Some(run), Some(plain)) = (self.conversation.run(), self.conversation.plain())
                && !Arc::ptr_eq(run, plain)
            {
                self.workshop.compare(ctx, plain.clone(), run.clone());
            }
        }
        for finished in self.workshop.finished() {
            match finished {
                Finished::Picture(image) => {
                    ctx.copy_image(image);
                    self.news = Some("picture copied".into());
                }
                Finished::Movement(run, moved) => self.movement = Some((run, moved)),
                Finished::Written(path) => {
                    self.news = Some(format!("written: {}", path.display()));
                    self.export = None;
                }
                Finished::Chosen(path) => {
                    if let Some(dialog) = &mut self.export {
                        dialog.path = path.display().to_string();
                    }
                }
                Finished::Failed(cause) => self.news = Some(format!("failed: {cause}")),
            }
        }
    }

    /// Another model may have fewer heads than the one that was looked at.
    fn keep_head_within(&mut self) {
        let Some(run) = self.conversation.run() else { return };
        if self.view.head.within(run.attention.layers(), run.attention.heads()).is_err() {
            self.view.head = HeadId::default();
        }
    }

    fn apply(&mut self, ctx: &Context, action: Action) {
        match action {
            Action::Choose(head) => self.view.head = head,
            Action::ResetZoom => self.heatmap.reset_zoom(),
            Action::OpenExport => self.export = Some(ExportDialog::new(&self.view)),
            Action::Copy(view, what) => self.copy(ctx, view, what),
            Action::ToggleZero(heads) => self.surgery.toggle_zero(heads),
            Action::Edit(edit) => self.surgery.add(edit),
            Action::ToggleCut(edit) => self.surgery.toggle_cut(edit),
            Action::Scale(heads, factor) => self.surgery.scale_to(heads, factor),
            Action::SwitchEdit(at) => self.surgery.switch(at),
            Action::RemoveEdit(at) => self.surgery.remove(at),
            Action::ClearEdits => self.surgery.clear(),
            Action::Undo => self.news = self.surgery.undo().map(|step| format!("undone: {step}")),
            Action::Redo => self.news = self.surgery.redo().map(|step| format!("done again: {step}")),
            Action::FindNearest(path) => self.find_nearest(&path),
            Action::RankHeads => {
                let texts = self.boxes.settled().unwrap_or_default();
                self.shows_effects = true;
                self.conversation.start(Box::new(ranking::experiment(texts)));
            }
            Action::ShowEffects(shown) => self.shows_effects = shown,
            Action::CancelExperiment => self.conversation.cancel_experiment(),
            Action::TogglePlain => self.shows_plain = !self.shows_plain,
        }
    }

    fn find_nearest(&mut self, path: &Path) {
        match read_lines(path) {
            Ok(lines) => self.conversation.start(Box::new(Nearest {
                query: self.boxes.a.clone(),
                sentences: Arc::new(lines.into_iter().map(|(_, line)| line.trim().to_owned()).collect()),
                edits: self.surgery.active(),
            })),
            Err(error) => self.news = Some(format!("failed: {}", one_line(&error))),
        }
    }

    fn show_output(&mut self, ui: &mut Ui, actions: &mut Vec<Action>) {
        let Some(ran) = self.conversation.ran() else { return };
        let outcome = self.conversation.nearest();
        let stale = outcome
            .is_some_and(|outcome| outcome.spec.query != self.boxes.a || outcome.spec.edits != self.surgery.active());
        let search = Search { running: self.conversation.experiment(), outcome, stale };
        self.output.show(ui, ran, self.view.colors, &search, actions);
    }

    /// What is asked of the engine for these texts.
    fn recipe(&self, texts: Texts) -> Recipe {
        Recipe { texts: Arc::new(texts), masked: Vec::new(), edits: self.surgery.active() }
    }

    /// The run that is shown.
    fn shown(&self) -> Option<&Arc<Run>> {
        if self.shows_plain { self.conversation.plain() } else { self.conversation.run() }
    }

    /// Keys that act while no text box has the focus.
    fn keys(&self, ui: &Ui, actions: &mut Vec<Action>) {
        if ui.ctx().text_edit_focused() || self.export.is_some() {
            return;
        }
        // Space presses the button that has the focus, if one has.
        let free = !ui.ctx().egui_wants_keyboard_input();
        ui.input_mut(|input| {
            if free && input.consume_key(Modifiers::NONE, Key::Space) {
                actions.push(Action::ToggleZero(self.view.head.into()));
            }
            if input.consume_key(Modifiers::NONE, Key::B) {
                actions.push(Action::TogglePlain);
            }
            // The longer shortcut first, or the shorter one would take it.
            if input.consume_key(Modifiers::COMMAND | Modifiers::SHIFT, Key::Z) {
                actions.push(Action::Redo);
            }
            if input.consume_key(Modifiers::COMMAND, Key::Z) {
                actions.push(Action::Undo);
            }
        });
    }

    fn copy(&mut self, ctx: &Context, view: ViewSpec, what: Copied) {
        let Some(run) = self.shown() else { return };
        let text = match what {
            Copied::Picture => return self.workshop.draw(ctx, run.clone(), view),
            Copied::Row(query) => share::row_as_tsv(run, &view, query),
            Copied::Command => Ok(share::command(run, &view)),
        };
        self.news = Some(match text {
            Ok(text) => {
                ctx.copy_text(text);
                if what == Copied::Command { "command copied".into() } else { "row copied".into() }
            }
            Err(error) => format!("failed: {}", one_line(&error)),
        });
    }

    fn show_status(&self, ui: &mut Ui) {
        ui.horizontal(|ui| {
            match self.conversation.model() {
                Some(model) => ui.label(RichText::new(&model.name).strong()),
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
                ui.label("updating…");
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

    fn show_notices(&self, ui: &mut Ui) {
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

    fn show_controls(&mut self, ui: &mut Ui, actions: &mut Vec<Action>) {
        ui.horizontal_wrapped(|ui| {
            let HeadId { layer, head } = self.view.head;
            ui.heading(format!("Layer {layer}, head {head}"));
            if self.surgery.is_zero(self.view.head) && !self.shows_plain {
                ui.label(RichText::new("off").strong());
            }
            ui.separator();
            controls::choice(ui, "Colours", &mut self.view.colors, ColorMap::ALL, ColorMap::name);
            controls::choice(ui, "Range", &mut self.view.range, MapRange::ALL, controls::range_name);
            let reset = ui.add_enabled(self.heatmap.is_zoomed(), egui::Button::new("Whole map"));
            if reset.on_hover_text("Show all tokens again; a double click does the same").clicked() {
                actions.push(Action::ResetZoom);
            }
            if ui.button("Export…").on_hover_text("Write this picture to a PNG or SVG file").clicked() {
                actions.push(Action::OpenExport);
            }
        });
        ui.horizontal(|ui| {
            edits::scale_slider(ui, self.view.head.into(), self.surgery.scale(self.view.head), actions);
            let differs = !self.surgery.active().is_empty();
            let mut plain = self.shows_plain && differs;
            let check = ui.add_enabled(differs, egui::Checkbox::new(&mut plain, "Plain model"));
            if check.on_hover_text("Show the model without the edits, and back (B)").clicked() {
                actions.push(Action::TogglePlain);
            }
        });
    }

    fn show_dialogs(&mut self, ui: &Ui) {
        let Some(decision) = self.export.as_mut().and_then(|dialog| dialog.show(ui)) else { return };
        match (decision, self.shown()) {
            (Decision::Write(path), Some(run)) => {
                let as_shown = self.heatmap.as_shown(run, &self.view);
                self.workshop.write(ui.ctx(), run.clone(), as_shown, path);
            }
            (Decision::Browse(path), _) => self.workshop.ask_for_path(ui.ctx(), &path),
            (Decision::Close, _) | (Decision::Write(_), None) => self.export = None,
        }
    }
}

impl eframe::App for HeadlightApp {
    fn logic(&mut self, ctx: &Context, _frame: &mut eframe::Frame) {
        self.receive(ctx);
        if let Some(texts) = self.boxes.settled() {
            self.conversation.ask(self.recipe(texts));
        }
    }

    fn ui(&mut self, ui: &mut Ui, _frame: &mut eframe::Frame) {
        let mut actions = Vec::new();
        Panel::top("texts").show(ui, |ui| {
            ui.add_space(4.0);
            self.boxes.show(ui);
            ui.add_space(4.0);
        });
        Panel::bottom("status").show(ui, |ui| {
            Sides::new().show(ui, |ui| self.show_status(ui), controls::choose_theme);
        });
        self.keys(ui, &mut actions);
        let run = self.shown().cloned();
        if let Some(run) = &run {
            let width = ui.available_width();
            Panel::left("all heads").resizable(true).default_size(width * 0.45).size_range(160.0..=width * 0.8).show(
                ui,
                |ui| {
                    let movement = self.movement.as_ref().filter(|(of, _)| Arc::ptr_eq(of, run));
                    let movement = movement.map(|(_, moved)| moved);
                    let furthest = movement.map(|moved| moved.iter().copied().fold(0.0, f32::max));
                    Panel::bottom("edits").resizable(true).default_size(150.0).show(ui, |ui| {
                        ui.add_space(4.0);
                        edits::list(ui, &self.surgery, furthest, &mut actions);
                    });
                    CentralPanel::no_frame().show(ui, |ui| {
                        ui.add_space(4.0);
                        let outcome = self.conversation.importance();
                        let here = self.boxes.settled();
                        let state = ranking::State {
                            running: self.conversation.experiment(),
                            outcome,
                            stale: outcome.is_some_and(|found| {
                                found.spec.examples.first().map(|first| &first.texts) != here.as_ref()
                            }),
                            shown: self.shows_effects,
                        };
                        ranking::row(ui, &state, &mut actions);
                        // Of another model's heads there is nothing to show.
                        let fits =
                            |effects: &&Array2<f32>| effects.dim() == (run.attention.layers(), run.attention.heads());
                        let importance = outcome.map(|found| &found.effect).filter(fits);
                        let importance = importance.filter(|_| self.shows_effects);
                        let (view, surgery) = (&self.view, &self.surgery);
                        let shown =
                            Shown { run, view, surgery, movement, furthest: furthest.unwrap_or(0.0), importance };
                        self.grid.show(ui, &shown, &mut actions);
                    });
                },
            );
        }
        if run.is_some() {
            Panel::bottom("output").show(ui, |ui| {
                ui.add_space(4.0);
                self.show_output(ui, &mut actions);
                ui.add_space(4.0);
            });
        }
        CentralPanel::default().show(ui, |ui| {
            self.show_notices(ui);
            match &run {
                Some(run) => {
                    self.show_controls(ui, &mut actions);
                    ui.add_space(4.0);
                    self.heatmap.show(ui, run, &self.view, &mut actions);
                }
                None => {
                    ui.centered_and_justified(|ui| {
                        let waiting = self.conversation.loading() || self.conversation.updating();
                        ui.label(if waiting { "loading the model…" } else { "no picture yet" });
                    });
                }
            }
        });
        self.show_dialogs(ui);
        for action in actions {
            self.apply(ui.ctx(), action);
        }
    }
}
