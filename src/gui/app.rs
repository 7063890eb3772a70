//! The window's state, what its drawing asks for, and a frame of it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use egui::{CentralPanel, Context, Frame, Panel, Sides, Ui};
use egui_tiles::Tree;
use ndarray::Array2;

use super::action::Action;
use super::command::Command;
use super::compare::Compare;
use super::controls;
use super::conversation::Conversation;
use super::examples;
use super::experiments::Experiments;
use super::file_dialog::FileDialog;
use super::glossary::Glossary;
use super::grid::Grid;
use super::heatmap::Heatmap;
use super::history::{History, Snapshot};
use super::hub::HubWindow;
use super::inside::InsideView;
use super::lang::{Language, tr};
use super::lines::Lines;
use super::messages::Messages;
use super::output::Output;
use super::palette::Palette;
use super::panes::{self, Pane, Views};
use super::pins::Pin;
use super::prose::Prose;
use super::prune::PruneWindow;
use super::recent::{RecentModels, RecentTexts};
use super::settings;
use super::status::{self, multilingual};
use super::surgery::Surgery;
use super::text_boxes::TextBoxes;
use super::tour::Tour;
use super::workshop::Workshop;
use crate::engine::Link;
use crate::metrics::HeadMetric;
use crate::run::{HeadId, PoolBy, Pooled, Recipe, Run, Texts, ViewSpec};
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

/// A run that the reader keeps, with the head that was looked at.
#[derive(Debug, Clone)]
pub(super) struct Pinned {
    pub run: Arc<Run>,
    pub head: HeadId,
}

/// The program's window.
pub struct HeadlightApp {
    pub(super) conversation: Conversation,
    pub(super) boxes: TextBoxes,
    pub(super) masks: Masks,
    pub(super) view: ViewSpec,
    /// Heads that the same is done to.
    pub(super) selection: BTreeSet<HeadId>,
    /// The places of the views.
    pub(super) layout: Tree<Pane>,
    pub(super) grid: Grid,
    pub(super) heatmap: Heatmap,
    pub(super) lines: Lines,
    pub(super) prose: Prose,
    pub(super) compare: Compare,
    pub(super) inside: InsideView,
    pub(super) workshop: Workshop,
    pub(super) output: Output,
    pub(super) surgery: Surgery,
    pub(super) experiments: Experiments,
    pub(super) pruning: PruneWindow,
    pub(super) hub: HubWindow,
    /// The token or cell that the reader holds on to.
    pub(super) held: Option<Pin>,
    /// The run and the head that were pinned.
    pub(super) pinned: Option<Pinned>,
    /// How the selected heads are shown as one map, if they are.
    pub(super) pool: Option<PoolBy>,
    /// The number that the grid's colours tell in place of weights.
    pub(super) metric: Option<HeadMetric>,
    pub(super) measured: Option<(Arc<Run>, HeadMetric, Array2<f32>)>,
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
    pub(super) recent_texts: RecentTexts,
    /// What is known of the model is shown.
    pub(super) shows_model: bool,
    pub(super) messages: Messages,
    pub(super) history: History,
    pub(super) palette: Palette,
    pub(super) glossary: Glossary,
    pub(super) tour: Tour,
    pub(super) language: Language,
}

impl HeadlightApp {
    /// A window that talks to the engine at the other end of `link`, with what an earlier one has kept in `storage`.
    pub fn new(link: Link, opening: Opening, storage: Option<&dyn eframe::Storage>) -> Self {
        let mut app = Self {
            conversation: Conversation::new(link),
            boxes: TextBoxes::new(opening.texts),
            masks: Masks::default(),
            view: settings::kept_view(storage),
            selection: BTreeSet::new(),
            layout: settings::kept_layout(storage),
            grid: Grid::default(),
            heatmap: Heatmap::default(),
            lines: Lines::default(),
            prose: Prose::default(),
            compare: Compare::default(),
            inside: InsideView::default(),
            workshop: Workshop::default(),
            output: Output::default(),
            surgery: Surgery::default(),
            experiments: Experiments::default(),
            pruning: PruneWindow::default(),
            hub: HubWindow::default(),
            held: None,
            pinned: None,
            pool: None,
            metric: None,
            measured: None,
            shows_plain: false,
            shows_effects: false,
            movement: None,
            dialog: None,
            models: opening.models,
            recent: RecentModels::kept(storage),
            recent_texts: RecentTexts::kept(storage),
            shows_model: false,
            messages: Messages::default(),
            history: History::default(),
            palette: Palette::default(),
            glossary: Glossary::default(),
            tour: Tour::kept(storage),
            language: settings::kept_language(storage),
        };
        // Where nothing is kept from one window to the next, as in tests, the window speaks English.
        if storage.is_some() {
            app.language.speak();
        }
        match (opening.model, opening.session) {
            (_, Some(session)) => app.restore(session),
            (Ok(folder), None) => app.conversation.load(folder),
            (Err(cause), None) => app.conversation.report(cause),
        }
        app
    }

    /// Something to tell as the window opens.
    pub fn tell(&mut self, trouble: impl std::fmt::Display) {
        self.messages.fail(trouble);
    }

    /// How many pieces of work are under way on threads beside the window, or wait for one.
    pub fn work_held(&self) -> usize {
        self.workshop.held()
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
        if let Some(run) = self.conversation.take_pinned() {
            self.pinned = Some(Pinned { run, head: self.view.head });
        }
        self.take_finished(ctx);
    }

    /// Another model may have fewer heads than the one that was looked at, and another text fewer tokens.
    fn keep_within(&mut self) {
        let Some(run) = self.conversation.run() else { return };
        if self.view.head.within(run.attention.layers(), run.attention.heads()).is_err() {
            self.view.head = HeadId::default();
        }
        let (layers, heads) = (run.attention.layers(), run.attention.heads());
        self.selection.retain(|head| head.within(layers, heads).is_ok());
        let tokens = run.attention.tokens();
        self.held = self.held.take().filter(|held| held.within(tokens));
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

    /// Everything but the edits, as it is now.
    fn snapshot(&self) -> Snapshot {
        Snapshot {
            texts: [self.boxes.a.clone(), self.boxes.b.clone()],
            view: self.view.clone(),
            selection: self.selection.clone(),
            pool: self.pool,
            held: self.held.clone(),
        }
    }

    /// What stands in the place of pictures while there is none.
    fn show_waiting(&self, ui: &mut Ui, actions: &mut Vec<Action>) {
        self.show_notices(ui, actions);
        ui.centered_and_justified(|ui| {
            let waiting = self.conversation.loading().is_some() || self.conversation.updating();
            ui.label(if waiting {
                tr!("loading the model…")
            } else {
                tr!("no picture yet: choose a model in the menu at the left end of the last line, then type a sentence")
            });
        });
    }

    /// The head that is looked at, or the selected heads as one.
    pub(super) fn shown_view(&self) -> ViewSpec {
        let pooled = self.pool.filter(|_| self.selection.len() > 1);
        let pooled = pooled.map(|by| Pooled { by, heads: self.selection.iter().copied().collect() });
        ViewSpec { pooled, ..self.view.clone() }
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
        if self.glossary.open {
            self.glossary.show(ui);
        }
        let layout = &self.layout;
        let typed = !self.boxes.is_empty();
        self.tour.show(ui, |pane| panes::place(layout, pane), typed, actions);
        if let Some(decision) = self.dialog.as_mut().and_then(|dialog| dialog.show(ui)) {
            self.decide(ui.ctx(), decision);
        }
    }
}

/// What helps a reader who is new here.
fn help_menu(ui: &mut Ui, actions: &mut Vec<Action>) {
    ui.menu_button(tr!("Help"), |ui| {
        for command in [Command::Tour, Command::Glossary, Command::Keys] {
            if command.button(ui, true, actions).clicked() {
                ui.close();
            }
        }
    });
}

impl eframe::App for HeadlightApp {
    fn save(&mut self, storage: &mut dyn eframe::Storage) {
        self.recent.keep(storage);
        self.recent_texts.keep(storage);
        self.tour.keep(storage);
        settings::keep(storage, &self.layout, &self.view, self.language);
    }

    fn logic(&mut self, ctx: &Context, _frame: &mut eframe::Frame) {
        self.receive(ctx);
        if let Some(texts) = self.boxes.settled() {
            self.conversation.ask(self.recipe(texts));
        }
    }

    fn ui(&mut self, ui: &mut Ui, _frame: &mut eframe::Frame) {
        let (mut actions, mut actions_left) = (Vec::new(), Vec::new());
        // Before any control can take them.
        self.keys(ui, &mut actions);
        self.show_palette(ui, &mut actions);
        Panel::top("texts").show(ui, |ui| {
            ui.add_space(4.0);
            let model = self.conversation.model().cloned();
            let multilingual = multilingual(&self.models, model.as_deref());
            let examples = |ui: &mut Ui| examples::menu(ui, multilingual, &self.recent_texts, &mut actions_left);
            self.boxes.show(ui, model.as_ref().map_or(&[], |model| &model.prefixes), examples);
            ui.add_space(4.0);
        });
        Panel::bottom("status").show(ui, |ui| {
            Sides::new().show(
                ui,
                |ui| self.show_status(ui, &mut actions_left),
                |ui| {
                    controls::choose_theme(ui);
                    actions.extend(controls::choose_language(ui, self.language).map(Action::Speak));
                    status::session_menu(ui, &mut actions);
                    panes::menu(ui, &self.layout, &mut actions);
                    Command::Messages.button(ui, self.can(Command::Messages), &mut actions);
                    help_menu(ui, &mut actions);
                    Command::Palette.button(ui, true, &mut actions);
                },
            );
        });
        actions.append(&mut actions_left);
        self.take_dropped(ui, &mut actions);
        let run = self.shown().cloned();
        if run.is_some() {
            Panel::top("toolbar").show(ui, |ui| {
                ui.add_space(4.0);
                self.show_toolbar(ui, &mut actions);
                self.show_notices(ui, &mut actions);
                ui.add_space(4.0);
            });
        }
        let ground = Frame::central_panel(ui.style()).inner_margin(0);
        CentralPanel::default().frame(ground).show(ui, |ui| match &run {
            Some(run) => {
                let mut layout = std::mem::replace(&mut self.layout, Tree::empty(egui::Id::unique("views")));
                layout.ui(&mut Views { app: self, run, actions: &mut actions }, ui);
                self.layout = layout;
            }
            None => self.show_waiting(ui, &mut actions),
        });
        self.show_dialogs(ui, &mut actions);
        for action in actions {
            self.apply(ui.ctx(), action);
        }
        self.messages.show_new(ui);
        self.messages.show_list(ui);
        // A word that is being composed is no step.
        if self.boxes.settled().is_some() {
            let now = ui.input(|input| input.time);
            if let Some([a, b]) = self.history.note(now, &self.snapshot(), self.surgery.changes()) {
                self.recent_texts.add(Texts { a, b: Some(b).filter(|b| !b.is_empty()) });
            }
        }
    }
}
