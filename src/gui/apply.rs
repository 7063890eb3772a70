//! Carrying out what drawing asked for.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use egui::Context;

use super::action::Action;
use super::app::{HeadlightApp, Masks, Pinned};
use super::compare::{Pick, Source};
use super::file_dialog::{Asks, Decision, Field, FileDialog};
use super::history::Back;
use super::lang::tr;
use super::panes::{self, Pane};
use super::ranking;
use super::share::{self, Copied};
use super::surgery::{Entry, Surgery};
use super::workshop::Finished;
use crate::engine::Experiment;
use crate::figure::HeatmapFigure;
use crate::lab::Nearest;
use crate::run::{Edit, HeadId, HeadPattern, Intervention, Texts, ViewSpec, one_line, read_lines};
use crate::session::{ModelName, SavedEdit, Session};

impl HeadlightApp {
    pub(super) fn apply(&mut self, ctx: &Context, action: Action) {
        match action {
            Action::Type(texts) => self.boxes.put(texts),
            Action::Choose(head) => {
                self.view.head = head;
                self.selection.clear();
            }
            Action::Select(head) => {
                // The first to be selected joins the head that is looked at.
                if self.selection.is_empty() {
                    self.selection.insert(self.view.head);
                }
                if !self.selection.remove(&head) {
                    self.selection.insert(head);
                }
            }
            Action::ClearSelection => self.selection.clear(),
            Action::SelectAll(heads, beside) => self.select_all(heads, beside),
            Action::LookInside(spec) => self.conversation.look_inside(spec),
            Action::PaintThumbnails(key) => self.workshop.paint_thumbnails(ctx, key),
            Action::Measure(metric) => {
                self.metric = metric;
                self.shows_effects = false;
            }
            Action::ShowPane(pane) => panes::bring_forward(&mut self.layout, pane),
            Action::HidePane(pane) => panes::hide(&mut self.layout, pane),
            Action::ResetLayout => self.layout = panes::default_layout(),
            Action::Compare => self.compare_head(),
            Action::ResetZoom => self.heatmap.reset_zoom(),
            Action::Copy(view, what) => self.copy(ctx, view, what),
            Action::ToggleZero(heads) => self.surgery.toggle_zero(&heads),
            Action::Edit(edits) => self.surgery.add_all(edits),
            Action::ToggleCuts(cuts) => self.surgery.toggle_cuts(cuts),
            Action::PinToken(pin) => self.held = (self.held.as_ref() != Some(&pin)).then_some(pin),
            Action::Scale(heads, factor) => self.surgery.scale_to(heads, factor),
            Action::SwitchEdit(at) => self.surgery.switch(at),
            Action::RemoveEdit(at) => self.surgery.remove(at),
            Action::ClearEdits => self.surgery.clear(),
            Action::Undo => {
                let back = self.history.undo();
                self.put_back(tr!("undone"), back, Surgery::undo);
            }
            Action::Redo => {
                let back = self.history.redo();
                self.put_back(tr!("done again"), back, Surgery::redo);
            }
            Action::Do(command) => {
                if let Some(action) = self.action_of(command) {
                    self.apply(ctx, action);
                }
            }
            Action::OpenPalette => self.palette.open(),
            Action::ShowKeys => self.palette.shows_keys = true,
            Action::OpenGlossary => self.glossary.open = true,
            Action::BeginTour => self.tour.begin(),
            Action::Speak(language) => {
                self.language = language;
                language.speak();
            }
            Action::ShowMessages => self.messages.open = true,
            Action::TogglePlain => self.shows_plain = !self.shows_plain,
            Action::ToggleMask(token) => self.toggle_mask(token),
            Action::Pin => self.pin(),
            Action::Unpin => self.pinned = None,
            Action::FindNearest(path) => self.find_nearest(&path),
            Action::RankHeads => {
                let texts = self.boxes.settled().unwrap_or_default();
                self.shows_effects = true;
                self.conversation.start(Box::new(ranking::experiment(texts)));
            }
            Action::OpenExperiments => self.experiments.open = true,
            Action::StartExperiment(kind) => {
                let texts = self.boxes.settled().unwrap_or_default();
                self.shows_effects = true;
                let experiment = self.experiments.make(kind, texts, self.conversation.model().map(Arc::as_ref));
                self.start(experiment);
            }
            Action::ShowEffects(shown) => self.shows_effects = shown,
            Action::CancelExperiment => self.conversation.cancel_experiment(),
            Action::DrawCurves(figure, scale) => self.workshop.draw_curves(ctx, figure, scale),
            Action::SwitchOffSpared => {
                let heads = self.experiments.spared(&self.conversation).to_vec();
                self.surgery.switch_off(&heads);
            }
            Action::PruneSpared => {
                let heads = self.experiments.spared(&self.conversation).to_vec();
                self.pruning.offer(heads, self.conversation.model().map(Arc::as_ref));
            }
            Action::OfferPruning => {
                let model = self.conversation.model().map(Arc::as_ref);
                let off = model.map(|model| self.surgery.off(model.layers, model.heads)).unwrap_or_default();
                self.pruning.offer(off, model);
            }
            Action::Prune => {
                let experiment = self.pruning.make(self.conversation.model().map(Arc::as_ref));
                self.start(experiment);
            }
            Action::OpenHub => self.hub.open = true,
            Action::FetchModel => {
                if let Some((fetch, wanted)) = self.hub.start() {
                    self.workshop.fetch(ctx, fetch, wanted);
                }
            }
            Action::GiveUpFetching => self.hub.give_up(),
            Action::ShowModel(shown) => self.shows_model = shown,
            Action::OpenModel(folder) => self.conversation.load(folder),
            Action::CancelLoading => self.conversation.cancel_loading(),
            Action::Open(path) => self.open(&path),
            Action::AskFile(asks) => self.ask_file(asks),
            Action::ExportCurves => self.ask_file(Asks::Curves),
            Action::Browse(field, path) => self.workshop.ask_for_path(ctx, field, &path),
        }
    }

    /// Puts back what a step changed; `edits` does so for edits.
    fn put_back(&mut self, done: &str, back: Option<Back>, edits: impl FnOnce(&mut Surgery) -> Option<String>) {
        let name = match back {
            None => return,
            Some(Back::Edits) => edits(&mut self.surgery).unwrap_or_default(),
            Some(Back::State(name, state)) => {
                let [a, b] = state.texts;
                self.boxes.put(Texts { a, b: Some(b) });
                (self.view, self.selection, self.pool, self.held) =
                    (state.view, state.selection, state.pool, state.held);
                name.to_owned()
            }
        };
        self.messages.tell(format!("{done}: {name}"));
    }

    fn start(&mut self, experiment: Result<Box<dyn Experiment>, String>) {
        match experiment {
            Ok(experiment) => self.conversation.start(experiment),
            Err(cause) => self.conversation.refuse_experiment(cause),
        }
    }

    fn open(&mut self, path: &Path) {
        let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        match (path.is_dir(), ending.as_str()) {
            (true, _) => self.conversation.load(path.to_owned()),
            (false, "safetensors" | "bin") => self.conversation.load(path.to_owned()),
            (false, "json") => self.open_session(path),
            _ => {
                let path = path.display();
                self.messages.fail(tr!("%{path} is no model's folder, no file of weights and no session", path = path));
            }
        }
    }

    fn ask_file(&mut self, asks: Asks) {
        let name = match asks {
            Asks::Picture => self.shown_view().file_name(),
            Asks::Comparison => "comparison.png".to_owned(),
            Asks::Curves => "curve.png".to_owned(),
            Asks::SaveSession => "session.json".to_owned(),
            Asks::OpenSession | Asks::OpenModel | Asks::Corpus(_) => String::new(),
        };
        self.dialog = Some(FileDialog::new(asks, &name));
    }

    /// What the reader decided in the file dialog.
    pub(super) fn decide(&mut self, ctx: &Context, decision: Decision) {
        match decision {
            Decision::Close => self.dialog = None,
            Decision::Browse(asks, path) => self.workshop.ask_for_path(ctx, Field::Dialog(asks), &path),
            Decision::Take(asks, path) => match asks {
                Asks::Picture => {
                    let Some(run) = self.shown().cloned() else { return };
                    let view = self.heatmap.as_shown(&run, &self.shown_view());
                    self.workshop.write_figure(ctx, path, move || HeatmapFigure::new(&run, &view).draw());
                }
                Asks::Comparison => {
                    let Some(figure) = self.compare.figure() else { return };
                    self.workshop.write_figure(ctx, path, move || figure.draw());
                }
                Asks::Curves => {
                    let Some(figure) = self.experiments.figure().cloned() else { return };
                    self.workshop.write_figure(ctx, path, move || figure.draw());
                }
                Asks::SaveSession => self.save_session(&path),
                Asks::OpenSession => self.open_session(&path),
                Asks::OpenModel => {
                    self.dialog = None;
                    self.open(&path);
                }
                Asks::Corpus(heads) => {
                    // Read once here, so that a wrong path is told beside the dialog; the mean is found by the engine.
                    match read_lines(&path) {
                        Ok(_) => {
                            let what = Intervention::Mean(Some(path));
                            let edit = |heads| Edit { heads, what: what.clone() };
                            self.surgery.add_all(heads.into_iter().map(edit).collect());
                            self.dialog = None;
                        }
                        Err(error) => self.messages.fail(one_line(&error)),
                    }
                }
            },
        }
    }

    /// Work of other threads that is done.
    pub(super) fn take_finished(&mut self, ctx: &Context) {
        for finished in self.workshop.finished() {
            match finished {
                Finished::Picture(image) => {
                    ctx.copy_image(image);
                    self.messages.tell(tr!("picture copied"));
                }
                Finished::Movement(run, moved) => self.movement = Some((run, moved)),
                Finished::Curves(figure, image) => self.experiments.receive(ctx, figure, image),
                Finished::Fetching(far) => self.hub.tell(far),
                Finished::Fetched(outcome) => {
                    if let Some(folder) = self.hub.end(outcome) {
                        self.messages.tell(tr!("fetched: it is being opened"));
                        self.conversation.load(folder);
                    }
                }
                Finished::Written(path) => {
                    self.messages.tell(tr!("written: %{a}", a = path.display()));
                    self.dialog = None;
                }
                Finished::Chosen(field, path) => self.fill(field, &path),
                Finished::Thumbnails(key, image) => self.grid.thumbnails.receive(ctx, key, image),
                Finished::Measured(run, metric, values) => {
                    self.workshop.measured();
                    self.measured = Some((run, metric, values));
                }
                Finished::Failed(cause) => self.messages.fail(cause),
            }
        }
    }

    /// Puts a path that was chosen where it was asked for.
    fn fill(&mut self, field: Field, path: &Path) {
        let path = path.display().to_string();
        match (field, &mut self.dialog) {
            (Field::Dialog(asks), Some(dialog)) if dialog.asks == asks => dialog.path = path,
            (Field::Dialog(_), _) => {}
            (Field::Texts, _) => self.experiments.texts = path,
            (Field::Sentences, _) => self.output.sentences = path,
            (Field::Pruned, _) => self.pruning.out = path,
        }
    }

    fn select_all(&mut self, heads: HeadPattern, beside: bool) {
        let Some(run) = self.shown() else { return };
        let Ok(wanted) = heads.among(run.attention.layers(), run.attention.heads()) else { return };
        let wanted: Vec<HeadId> = wanted.collect();
        if !beside {
            self.selection.clear();
        }
        self.selection.extend(wanted);
    }

    /// Holds the head that is looked at on side A; side B goes on to show the one that is looked at.
    fn compare_head(&mut self) {
        self.compare.a = Pick { source: Source::Shown, head: Some(self.view.head) };
        self.compare.b = Pick { source: Source::Shown, head: None };
        panes::bring_forward(&mut self.layout, Pane::Compare);
        self.messages.tell(tr!("head held on side A: choose another one in the grid"));
    }

    fn toggle_mask(&mut self, token: usize) {
        let Some(texts) = self.boxes.settled() else { return };
        if self.masks.texts != texts {
            self.masks = Masks { texts, tokens: Default::default() };
        }
        if !self.masks.tokens.remove(&token) {
            self.masks.tokens.insert(token);
        }
    }

    fn pin(&mut self) {
        let Some(run) = self.shown().cloned() else { return };
        let head = self.view.head;
        self.pinned = Some(Pinned { run, head });
        // What is pinned is what is compared with next.
        self.compare.a = Pick { source: Source::Pinned, head: Some(head) };
        self.compare.b = Pick { source: Source::Shown, head: None };
        self.messages.tell(tr!("run pinned: heads can be patched from it and compared with it"));
    }

    fn find_nearest(&mut self, path: &Path) {
        match read_lines(path) {
            Ok(lines) => self.conversation.start(Box::new(Nearest {
                query: self.boxes.a.clone(),
                sentences: Arc::new(lines.into_iter().map(|(_, line)| line.trim().to_owned()).collect()),
                edits: self.surgery.active(),
            })),
            Err(error) => self.messages.fail(one_line(&error)),
        }
    }

    fn copy(&mut self, ctx: &Context, view: ViewSpec, what: Copied) {
        let Some(run) = self.shown() else { return };
        let text = match what {
            Copied::Picture => return self.workshop.draw(ctx, run.clone(), view),
            Copied::Row(query) => share::row_as_tsv(run, &view, query),
            Copied::Command => Ok(share::command(run, &view)),
        };
        match text {
            Ok(text) => {
                ctx.copy_text(text);
                self.messages.tell(if what == Copied::Command { tr!("command copied") } else { tr!("row copied") });
            }
            Err(error) => self.messages.fail(one_line(&error)),
        }
    }

    fn save_session(&mut self, path: &Path) {
        // With the prefix, if one is chosen: that is what was run.
        let texts = self.boxes.settled().unwrap_or_default();
        let model = self.conversation.model();
        let session = Session {
            version: Session::VERSION,
            model: model.map_or_else(ModelName::default, |model| ModelName {
                name: model.name.clone(),
                folder: model.folder.clone(),
            }),
            masked: self.masks.of(&texts),
            texts,
            edits: (self.surgery.entries().iter())
                .map(|entry| SavedEdit { edit: entry.edit.clone(), on: entry.on })
                .collect(),
            view: self.shown_view(),
            pinned: self.pinned.as_ref().map(|pinned| pinned.run.recipe()),
        };
        match session.write(path) {
            Ok(()) => {
                self.messages.tell(tr!("written: %{a}", a = path.display()));
                self.dialog = None;
            }
            Err(error) => self.messages.fail(one_line(&error)),
        }
    }

    fn open_session(&mut self, path: &Path) {
        match Session::read(path) {
            Ok(session) => {
                self.messages.tell(tr!("opened: %{a}", a = path.display()));
                self.dialog = None;
                self.restore(session);
            }
            Err(error) => self.messages.fail(one_line(&error)),
        }
    }

    /// Goes on with a session; its numbers are computed again.
    pub(super) fn restore(&mut self, session: Session) {
        let place = session.model.place();
        let open =
            self.conversation.model().is_some_and(|model| model.folder == place || model.name == session.model.name);
        if !open && place != PathBuf::new() {
            self.conversation.load(place);
        }
        self.masks = Masks { texts: session.texts.clone(), tokens: session.masked.into_iter().collect() };
        self.boxes = super::text_boxes::TextBoxes::new(session.texts);
        let entries = session.edits.into_iter().map(|saved| Entry { edit: saved.edit, on: saved.on });
        self.surgery.replace(tr!("open session").into(), entries.collect());
        self.pool = session.view.pooled.as_ref().map(|pooled| pooled.by);
        self.selection = session.view.pooled.iter().flat_map(|pooled| pooled.heads.iter().copied()).collect();
        self.view = ViewSpec { pooled: None, ..session.view };
        self.pinned = None;
        if let Some(recipe) = session.pinned {
            self.conversation.pin(recipe);
        }
    }
}
