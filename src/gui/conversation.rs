//! What the window and the engine are saying to each other.

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;

use super::lang::tr;
use super::ranking::Ranking;
use super::recent::name_of;
use crate::engine::{Experiment, Job, Link, Outcome, Progress, Ran, RequestId, Response};
use crate::lab::{
    CellOrigin, Importance, Inside, NearestOutcome, PruneOutcome, PruningCurveOutcome, Rerun, Sensitivity,
};
use crate::run::{ModelInfo, Recipe, Run};

/// Sends texts to the engine, keeps the latest answer, and drops those that are no longer wanted.
#[derive(Debug)]
pub struct Conversation {
    link: Link,
    loading: Option<Loading>,
    /// The run that is awaited, and how far what it needs first has come.
    wanted: Option<(RequestId, Option<Progress>)>,
    asked: Option<Recipe>,
    model: Option<Arc<ModelInfo>>,
    /// A model that has come, until the window takes note.
    opened: Option<Arc<ModelInfo>>,
    ran: Option<Ran>,
    trouble: Option<String>,
    experiment: Option<(RequestId, Progress)>,
    /// What went wrong with the last experiment.
    experiment_trouble: Option<String>,
    found: Found,
    /// A run that is being made again, to be pinned; then that run.
    pinning: Option<RequestId>,
    pinned: Option<Arc<Run>>,
    /// What is being looked into, and what was found there last.
    looking: Option<(RequestId, Inside)>,
    inside: Option<CellOrigin>,
    /// What could not be looked into, and why.
    inside_trouble: Option<(Inside, String)>,
}

/// A model that is being opened.
#[derive(Debug)]
pub struct Loading {
    id: RequestId,
    folder: PathBuf,
    /// Bytes of its weights that have been read, of how many.
    pub progress: Option<Progress>,
    /// The reader has given it up; until the engine says so, it may still come.
    pub given_up: bool,
}

impl Loading {
    /// What a reader calls it.
    pub fn name(&self) -> String {
        name_of(&self.folder)
    }
}

/// What experiments found last, each kind by itself.
#[derive(Debug, Default)]
struct Found {
    nearest: Option<NearestOutcome>,
    ranking: Option<Ranking>,
    curve: Option<PruningCurveOutcome>,
    pruned: Option<PruneOutcome>,
}

impl Found {
    fn take(&mut self, outcome: Box<dyn Any + Send>) {
        let outcome = match outcome.downcast::<NearestOutcome>() {
            Ok(nearest) => return self.nearest = Some(*nearest),
            Err(other) => other,
        };
        let outcome = match outcome.downcast::<Importance>() {
            Ok(found) => return self.ranking = Some(Ranking::LeaveOneOut(*found)),
            Err(other) => other,
        };
        let outcome = match outcome.downcast::<Sensitivity>() {
            Ok(found) => return self.ranking = Some(Ranking::Gradient(*found)),
            Err(other) => other,
        };
        match outcome.downcast::<PruningCurveOutcome>() {
            Ok(found) => {
                self.ranking = Some(Ranking::LeaveOneOut(found.importance.clone()));
                self.curve = Some(*found);
            }
            Err(other) => self.pruned = other.downcast().ok().map(|found| *found),
        }
    }
}

impl Conversation {
    pub fn new(link: Link) -> Self {
        Self {
            link,
            loading: None,
            wanted: None,
            asked: None,
            model: None,
            opened: None,
            ran: None,
            trouble: None,
            experiment: None,
            experiment_trouble: None,
            found: Found::default(),
            pinning: None,
            pinned: None,
            looking: None,
            inside: None,
            inside_trouble: None,
        }
    }

    /// Opens a model in place of another that is being opened; the text is asked for again once it is there.
    pub fn load(&mut self, folder: PathBuf) {
        self.cancel_loading();
        let id = self.link.load(folder.clone());
        self.loading = Some(Loading { id, folder, progress: None, given_up: false });
        self.trouble = None;
    }

    /// Stays with the model in use.
    pub fn cancel_loading(&mut self) {
        if let Some(loading) = &mut self.loading {
            loading.given_up = true;
            self.link.cancel(loading.id);
        }
    }

    /// Asks for a run, unless that is what was asked for last.
    pub fn ask(&mut self, recipe: Recipe) {
        if self.asked.as_ref() == Some(&recipe) {
            return;
        }
        self.asked = Some(recipe.clone());
        if self.loading.is_some() || self.model.is_some() {
            self.wanted = Some((self.link.submit(Job::Forward(recipe)), None));
        }
    }

    /// Starts an experiment; one that runs is given up.
    pub fn start(&mut self, experiment: Box<dyn Experiment>) {
        self.cancel_experiment();
        self.experiment_trouble = None;
        self.experiment = Some((self.link.submit(Job::Experiment(experiment)), Progress::new(0, 0)));
    }

    pub fn cancel_experiment(&mut self) {
        if let Some((id, _)) = self.experiment.take() {
            self.link.cancel(id);
        }
    }

    /// Makes a run again that was pinned.
    pub fn pin(&mut self, recipe: Recipe) {
        self.pinning = Some(self.link.submit(Job::Experiment(Box::new(Rerun { recipe }))));
    }

    /// Works out how a cell came to be, unless that is known, under way or was tried in vain.
    pub fn look_inside(&mut self, spec: Inside) {
        let tried = self.inside_trouble.as_ref().is_some_and(|(of, _)| *of == spec);
        if tried || self.looking.as_ref().is_some_and(|(_, of)| *of == spec) {
            return;
        }
        if let Some((id, _)) = self.looking.take() {
            self.link.cancel(id);
        }
        let id = self.link.submit(Job::Experiment(Box::new(spec.clone())));
        self.looking = Some((id, spec));
    }

    /// How the cell that was looked into last came to be.
    pub fn inside(&self) -> Option<&CellOrigin> {
        self.inside.as_ref()
    }

    /// Why the last look inside failed.
    pub fn inside_trouble(&self) -> Option<&str> {
        self.inside_trouble.as_ref().map(|(_, cause)| cause.as_str())
    }

    fn is_looking(&self, id: RequestId) -> bool {
        self.looking.as_ref().is_some_and(|(looking, _)| *looking == id)
    }

    /// The model that has been opened, once.
    pub fn take_opened(&mut self) -> Option<Arc<ModelInfo>> {
        self.opened.take()
    }

    /// The run that was made again, once.
    pub fn take_pinned(&mut self) -> Option<Arc<Run>> {
        self.pinned.take()
    }

    /// How far the running experiment has come.
    pub fn experiment(&self) -> Option<&Progress> {
        self.experiment.as_ref().map(|(_, progress)| progress)
    }

    /// What the last search for the nearest sentences found.
    pub fn nearest(&self) -> Option<&NearestOutcome> {
        self.found.nearest.as_ref()
    }

    /// What the last ranking of heads found.
    pub fn ranking(&self) -> Option<&Ranking> {
        self.found.ranking.as_ref()
    }

    /// What the last pruning curve found.
    pub fn curve(&self) -> Option<&PruningCurveOutcome> {
        self.found.curve.as_ref()
    }

    /// What the last pruning wrote.
    pub fn pruned(&self) -> Option<&PruneOutcome> {
        self.found.pruned.as_ref()
    }

    /// Why the last experiment failed, or could not be started.
    pub fn experiment_trouble(&self) -> Option<&str> {
        self.experiment_trouble.as_deref()
    }

    /// Says why an experiment cannot be started.
    pub fn refuse_experiment(&mut self, cause: String) {
        self.experiment_trouble = Some(cause);
    }

    /// Takes in the engine's answers. True if there is a new run.
    pub fn listen(&mut self) -> bool {
        let answers: Vec<Response> = self.link.received().collect();
        let mut fresh = false;
        for answer in answers {
            let id = answer.id();
            let terminal = answer.is_terminal();
            match answer {
                // One that was given up too late is in use all the same.
                Response::Done { outcome: Outcome::Loaded(info), .. } => {
                    self.opened = Some(info.clone());
                    self.model = Some(info);
                    if self.wanted.as_ref().is_none_or(|(wanted, _)| *wanted < id) {
                        self.asked = None;
                    }
                    (self.inside, self.inside_trouble) = (None, None);
                    // What was found belongs to the model before.
                    self.found = Found { pruned: self.found.pruned.take(), ..Found::default() };
                }
                Response::Done { outcome: Outcome::Run(ran), .. } if self.is_wanted(id) => {
                    self.ran = Some(ran);
                    self.trouble = None;
                    fresh = true;
                }
                Response::Progress { progress, .. } => {
                    if let Some((_, seen)) = self.experiment.as_mut().filter(|(running, _)| *running == id) {
                        if let Some(importance) = progress.found.as_ref().and_then(|found| found.downcast_ref()) {
                            self.found.ranking = Some(Ranking::LeaveOneOut(Importance::clone(importance)));
                        }
                        *seen = progress;
                    } else if let Some(loading) = self.loading.as_mut().filter(|loading| loading.id == id) {
                        loading.progress = Some(progress);
                    } else if let Some((_, seen)) = self.wanted.as_mut().filter(|(wanted, _)| *wanted == id) {
                        *seen = Some(progress);
                    }
                }
                Response::Done { outcome: Outcome::Experiment(outcome), .. } if self.pinning == Some(id) => {
                    self.pinned = outcome.downcast::<Arc<Run>>().ok().map(|run| *run);
                }
                Response::Done { outcome: Outcome::Experiment(outcome), .. } if self.is_looking(id) => {
                    self.inside = outcome.downcast::<CellOrigin>().ok().map(|origin| *origin);
                    self.inside_trouble = None;
                }
                Response::Done { outcome: Outcome::Experiment(outcome), .. } => {
                    self.found.take(outcome);
                }
                Response::Failed { cause, .. } if self.pinning == Some(id) => {
                    self.trouble = Some(tr!("the pinned run cannot be made again: %{cause}", cause = cause));
                }
                Response::Failed { cause, .. } if self.is_looking(id) => {
                    self.inside_trouble = self.looking.take().map(|(_, spec)| (spec, cause));
                }
                Response::Failed { cause, .. }
                    if self.experiment.as_ref().is_some_and(|(running, _)| *running == id) =>
                {
                    self.experiment_trouble = Some(cause);
                }
                // Without a model every text fails: what the reader needs to hear is why there is none.
                Response::Failed { cause, .. }
                    if self.is_loading(id) || (self.is_wanted(id) && self.model.is_some()) =>
                {
                    self.trouble = Some(cause);
                }
                Response::Cancelled { .. } if self.is_loading(id) && self.model.is_none() => {
                    self.trouble =
                        Some(tr!("no model is open: the menu at the left end of the last line has some").into());
                }
                _ => {}
            }
            if terminal {
                self.loading = self.loading.take().filter(|loading| loading.id != id);
                self.looking = self.looking.take().filter(|(looking, _)| *looking != id);
                self.wanted = self.wanted.take().filter(|(wanted, _)| *wanted != id);
                self.experiment = self.experiment.take().filter(|(running, _)| *running != id);
            }
        }
        fresh
    }

    fn is_wanted(&self, id: RequestId) -> bool {
        self.wanted.as_ref().is_some_and(|(wanted, _)| *wanted == id)
    }

    /// How far what the awaited run needs first has come, such as a mean over a text file.
    pub fn preparing(&self) -> Option<&Progress> {
        self.wanted.as_ref()?.1.as_ref()
    }

    /// The picture shown is not yet that of the text typed.
    pub fn updating(&self) -> bool {
        self.wanted.is_some()
    }

    fn is_loading(&self, id: RequestId) -> bool {
        self.loading.as_ref().is_some_and(|loading| loading.id == id)
    }

    /// The model that is being opened.
    pub fn loading(&self) -> Option<&Loading> {
        self.loading.as_ref()
    }

    pub fn model(&self) -> Option<&Arc<ModelInfo>> {
        self.model.as_ref()
    }

    pub fn run(&self) -> Option<&Arc<Run>> {
        self.ran.as_ref().map(|ran| &ran.run)
    }

    /// The plain run of the text that is shown: the same as [`run`](Self::run) where nothing is edited.
    pub fn plain(&self) -> Option<&Arc<Run>> {
        self.ran.as_ref().map(|ran| &ran.plain)
    }

    /// Everything that the text that is shown brought.
    pub fn ran(&self) -> Option<&Ran> {
        self.ran.as_ref()
    }

    /// What went wrong last, until something goes well.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Shows a failure that did not come from the engine.
    pub fn report(&mut self, trouble: String) {
        self.trouble = Some(trouble);
    }
}
