//! The window's state, what its drawing asks for, and a frame of it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use egui::{CentralPanel, Context, Key, Modifiers, Panel, RichText, ScrollArea, Sides, Ui};
use ndarray::Array2;

use super::action::{Action, patterns};
use super::controls;
use super::conversation::Conversation;
use super::edits;
use super::examples;
use super::experiments::Experiments;
use super::file_dialog::{Asks, FileDialog};
use super::grid::{Grid, Shown};
use super::heatmap::Heatmap;
use super::hub::HubWindow;
use super::output::{Output, Search};
use super::prune::PruneWindow;
use super::ranking;
use super::recent::RecentModels;
use super::status::{self, multilingual};
use super::surgery::Surgery;
use super::text_boxes::TextBoxes;
use super::workshop::Workshop;
use crate::engine::Link;
use crate::run::{ColorMap, HeadId, MapRange, Recipe, Run, Texts, ViewSpec};
use crate::session::Session;

/// What the window opens with.
#[derive(Debug, Clone)]
pub struct Opening {
    pub texts: Texts,
    /// The model's folder, or why there is none.
    pub model: Result<PathBuf, String>,
    /// The models that were found: names and folders.
    pub models: Vec<(String, PathBuf)>,
    /// A session to go on with: its texts and its model take the place of the others.
    pub session: Option<Session>,
}

/// Tokens that are masked in one text.
#[derive(Debug, Default)]
pub(super) struct Masks {
    pub texts: Texts,
    pub tokens: BTreeSet<usize>,
}

impl Masks {
    /// Those of a text: of another text than they were set in there are none.
    pub fn of(&self, texts: &Texts) -> Vec<usize> {
        if self.texts == *texts { self.tokens.iter().copied().collect() } else { Vec::new() }
    }
}

/// The program's window.
pub struct HeadlightApp {
    pub(super) conversation: Conversation,
    pub(super) boxes: TextBoxes,
    pub(super) masks: Masks,
    pub(super) view: ViewSpec,
    /// Heads that the same is done to.
    pub(super) selection: BTreeSet<HeadId>,
    grid: Grid,
    pub(super) heatmap: Heatmap,
    pub(super) workshop: Workshop,
    pub(super) output: Output,
    pub(super) surgery: Surgery,
    pub(super) experiments: Experiments,
    pub(super) pruning: PruneWindow,
    pub(super) hub: HubWindow,
    /// The run that heads are patched from.
    pub(super) pinned: Option<Arc<Run>>,
    /// The plain model's run is shown, whatever is edited.
    pub(super) shows_plain: bool,
    /// The grid shows what the ranking found in place of maps.
    pub(super) shows_effects: bool,
    /// How far each head of a run moved from the plain one.
    pub(super) movement: Option<(Arc<Run>, Array2<f32>)>,
    pub(super) dialog: Option<FileDialog>,
    /// Models to choose from.
    pub(super) models: Vec<(String, PathBuf)>,
    pub(super) recent: RecentModels,
    /// What is known of the model is shown.
    pub(super) shows_model: bool,
    /// What was done last, for the status line.
    pub(super) news: Option<String>,
}

impl HeadlightApp {
    /// A window that talks to the engine at the other end of `link`, with what an earlier one has kept in `storage`.
    pub fn new(link: Link, opening: Opening, storage: Option<&dyn eframe::Storage>) -> Self {
        let mut app = Self {
            conversation: Conversation::new(link),
            boxes: TextBoxes::new(opening.texts),
            masks: Masks::default(),
            view: ViewSpec::default(),
            selection: BTreeSet::new(),
            grid: Grid::default(),
            heatmap: Heatmap::default(),
            workshop: Workshop::default(),
            output: Output::default(),
            surgery: Surgery::default(),
            experiments: Experiments::default(),
            pruning: PruneWindow::default(),
            hub: HubWindow::default(),
            pinned: None,
            shows_plain: false,
            shows_effects: false,
            movement: None,
            dialog: None,
            models: opening.models,
            recent: RecentModels::kept(storage),
            shows_model: false,
            news: None,
        };
        match (opening.model, opening.session) {
            (_, Some(session)) => app.restore(session),
            (Ok(folder), None) => app.conversation.load(folder),
            (Err(cause), None) => app.conversation.report(cause),
        }
        app
    }

    fn receive(&mut self, ctx: &Context) {
        if self.conversation.listen() {
            self.keep_within();
            if let (Some(run), Some(plain)) = (self.conversation.run(), self.conversation.plain())
                && !Arc::ptr_eq(run, plain)
            {
                self.workshop.compare(ctx, plain.clone(), run.clone());
            }
        }
        if let Some(model) = self.conversation.take_opened() {
            self.recent.add(&model.folder);
        }
        if let Some(pinned) = self.conversation.take_pinned() {
            self.pinned = Some(pinned);
        }
        self.take_finished(ctx);
    }

    /// Another model may have fewer heads than the one that was looked at, and its heads cannot be patched from a run of
    /// the other.
    fn keep_within(&mut self) {
        let Some(run) = self.conversation.run() else { return };
        if self.view.head.within(run.attention.layers(), run.attention.heads()).is_err() {
            self.view.head = HeadId::default();
        }
        let (layers, heads) = (run.attention.layers(), run.attention.heads());
        self.selection.retain(|head| head.within(layers, heads).is_ok());
        if self.pinned.as_ref().is_some_and(|pinned| !Arc::ptr_eq(&pinned.model, &run.model)) {
            self.pinned = None;
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
        Recipe { masked: self.masks.of(&texts), texts: Arc::new(texts), edits: self.surgery.active() }
    }

    /// The run that is shown.
    pub(super) fn shown(&self) -> Option<&Arc<Run>> {
        if self.shows_plain { self.conversation.plain() } else { self.conversation.run() }
    }

    /// Files that were dropped onto the window: a model's folder, its weights, or a session.
    fn take_dropped(&self, ui: &Ui, actions: &mut Vec<Action>) {
        let dropped: Vec<PathBuf> =
            ui.input(|input| input.raw.dropped_files.iter().map(|file| file.path().to_owned()).collect());
        actions.extend(dropped.into_iter().map(Action::Open));
    }

    /// Keys that act while no text box has the focus.
    fn keys(&self, ui: &Ui, actions: &mut Vec<Action>) {
        if ui.ctx().text_edit_focused() || self.dialog.is_some() {
            return;
        }
        // Space presses the button that has the focus, if one has.
        let free = !ui.ctx().egui_wants_keyboard_input();
        // Escape closes a menu before it ends the selection.
        let selected = !self.selection.is_empty() && !egui::Popup::is_any_open(ui.ctx());
        ui.input_mut(|input| {
            if free && input.consume_key(Modifiers::NONE, Key::Space) {
                actions.push(Action::ToggleZero(patterns(&self.selection, self.view.head)));
            }
            if selected && input.consume_key(Modifiers::NONE, Key::Escape) {
                actions.push(Action::ClearSelection);
            }
            if input.consume_key(Modifiers::NONE, Key::P) {
                actions.push(Action::Pin);
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

    fn show_controls(&mut self, ui: &mut Ui, actions: &mut Vec<Action>) {
        ui.horizontal_wrapped(|ui| {
            let HeadId { layer, head } = self.view.head;
            ui.heading(format!("Layer {layer}, head {head}"));
            if self.surgery.is_zero(self.view.head) && !self.shows_plain {
                ui.label(RichText::new("off").strong());
            }
            if self.conversation.run().is_some_and(|run| run.model.pruned.contains(&self.view.head)) {
                ui.label(RichText::new("pruned").strong())
                    .on_hover_text("This head was cut out of the model's weights");
            }
            ui.separator();
            controls::choice(ui, "Colours", &mut self.view.colors, ColorMap::ALL, ColorMap::name);
            controls::choice(ui, "Range", &mut self.view.range, MapRange::ALL, controls::range_name);
            let reset = ui.add_enabled(self.heatmap.is_zoomed(), egui::Button::new("Whole map"));
            if reset.on_hover_text("Show all tokens again; a double click does the same").clicked() {
                actions.push(Action::ResetZoom);
            }
            if ui.button("Export…").on_hover_text("Write this picture to a PNG or SVG file").clicked() {
                actions.push(Action::AskFile(Asks::Picture));
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
            let help = "Keep the run that is shown, so that heads can be patched from it (P)";
            if ui.button("Pin run").on_hover_text(help).clicked() {
                actions.push(Action::Pin);
            }
        });
    }

    fn show_dialogs(&mut self, ui: &Ui, actions: &mut Vec<Action>) {
        if self.experiments.open {
            self.experiments.show(ui, &self.conversation, actions);
        }
        if self.pruning.open {
            self.pruning.show(ui, &self.conversation, actions);
        }
        if self.hub.open {
            self.hub.show(ui, actions);
        }
        if self.shows_model {
            self.show_model(ui, actions);
        }
        if let Some(decision) = self.dialog.as_mut().and_then(|dialog| dialog.show(ui)) {
            self.decide(ui.ctx(), decision);
        }
    }

    fn show_grid(&mut self, ui: &mut Ui, run: &Arc<Run>, actions: &mut Vec<Action>) {
        let movement = self.movement.as_ref().filter(|(of, _)| Arc::ptr_eq(of, run));
        let movement = movement.map(|(_, moved)| moved);
        let furthest = movement.map(|moved| moved.iter().copied().fold(0.0, f32::max));
        let pinned = self.pinned.as_deref();
        Panel::bottom("edits").resizable(true).default_size(150.0).show(ui, |ui| {
            ui.add_space(4.0);
            edits::list(ui, &self.surgery, pinned, furthest, actions);
        });
        CentralPanel::no_frame().show(ui, |ui| {
            ui.add_space(4.0);
            let outcome = self.conversation.ranking();
            let here = self.boxes.settled();
            let state = ranking::State {
                running: self.conversation.experiment(),
                outcome,
                stale: outcome.is_some_and(|found| found.is_stale(here.as_ref())),
                shown: self.shows_effects,
            };
            ranking::row(ui, &state, actions);
            // Of another model's heads there is nothing to show.
            let dim = (run.attention.layers(), run.attention.heads());
            let ranking = outcome.filter(|found| self.shows_effects && found.values().dim() == dim);
            let (view, surgery, furthest) = (&self.view, &self.surgery, furthest.unwrap_or(0.0));
            let selection = &self.selection;
            let shown = Shown { run, view, selection, surgery, movement, furthest, ranking, pinned };
            self.grid.show(ui, &shown, actions);
        });
    }
}

impl eframe::App for HeadlightApp {
    fn save(&mut self, storage: &mut dyn eframe::Storage) {
        self.recent.keep(storage);
    }

    fn logic(&mut self, ctx: &Context, _frame: &mut eframe::Frame) {
        self.receive(ctx);
        if let Some(texts) = self.boxes.settled() {
            self.conversation.ask(self.recipe(texts));
        }
    }

    fn ui(&mut self, ui: &mut Ui, _frame: &mut eframe::Frame) {
        let (mut actions, mut actions_left) = (Vec::new(), Vec::new());
        Panel::top("texts").show(ui, |ui| {
            ui.add_space(4.0);
            let model = self.conversation.model().cloned();
            let multilingual = multilingual(&self.models, model.as_deref());
            let examples = |ui: &mut Ui| examples::menu(ui, multilingual, &mut actions_left);
            self.boxes.show(ui, model.as_ref().map_or(&[], |model| &model.prefixes), examples);
            ui.add_space(4.0);
        });
        Panel::bottom("status").show(ui, |ui| {
            Sides::new().show(
                ui,
                |ui| self.show_status(ui, &mut actions_left),
                |ui| {
                    controls::choose_theme(ui);
                    status::session_menu(ui, &mut actions);
                },
            );
        });
        actions.append(&mut actions_left);
        self.take_dropped(ui, &mut actions);
        self.keys(ui, &mut actions);
        let run = self.shown().cloned();
        if let Some(run) = &run {
            let width = ui.available_width();
            let left = Panel::left("all heads").resizable(true).default_size(width * 0.45);
            left.size_range(160.0..=width * 0.8).show(ui, |ui| self.show_grid(ui, run, &mut actions));
            let most = ui.available_height() * 0.6;
            Panel::bottom("output").resizable(true).max_size(most).show(ui, |ui| {
                ui.add_space(4.0);
                ScrollArea::vertical().id_salt("output").show(ui, |ui| self.show_output(ui, &mut actions));
                ui.add_space(4.0);
            });
        }
        CentralPanel::default().show(ui, |ui| {
            self.show_notices(ui, &mut actions);
            match &run {
                Some(run) => {
                    self.show_controls(ui, &mut actions);
                    ui.add_space(4.0);
                    self.heatmap.show(ui, run, &self.view, &mut actions);
                }
                None => {
                    ui.centered_and_justified(|ui| {
                        let waiting = self.conversation.loading().is_some() || self.conversation.updating();
                        ui.label(if waiting { "loading the model…" } else { "no picture yet" });
                    });
                }
            }
        });
        self.show_dialogs(ui, &mut actions);
        for action in actions {
            self.apply(ui.ctx(), action);
        }
    }
}
