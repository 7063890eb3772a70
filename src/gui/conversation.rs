//! What the window and the engine are saying to each other.

use std::path::PathBuf;
use std::sync::Arc;

use crate::engine::{Experiment, Job, Link, Outcome, Progress, Ran, RequestId, Response};
use crate::lab::{Importance, NearestOutcome};
use crate::run::{ModelInfo, Recipe, Run};

/// Sends texts to the engine, keeps the latest answer, and drops those that are no longer wanted.
#[derive(Debug)]
pub struct Conversation {
    link: Link,
    loading: Option<RequestId>,
    /// The run that is awaited, and how far what it needs first has come.
    wanted: Option<(RequestId, Option<Progress>)>,
    asked: Option<Recipe>,
    model: Option<Arc<ModelInfo>>,
    ran: Option<Ran>,
    trouble: Option<String>,
    experiment: Option<(RequestId, Progress)>,
    nearest: Option<NearestOutcome>,
    importance: Option<Importance>,
}

impl Conversation {
    pub fn new(link: Link) -> Self {
        Self {
            link,
            loading: None,
            wanted: None,
            asked: None,
            model: None,
            ran: None,
            trouble: None,
            experiment: None,
            nearest: None,
            importance: None,
        }
    }

    /// Opens a model; the text is asked for again once it is there.
    pub fn load(&mut self, folder: PathBuf) {
        self.loading = Some(self.link.load(folder));
        self.trouble = None;
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
        self.experiment = Some((self.link.submit(Job::Experiment(experiment)), Progress { done: 0, total: 0 }));
    }

    pub fn cancel_experiment(&mut self) {
        if let Some((id, _)) = self.experiment.take() {
            self.link.cancel(id);
        }
    }

    /// How far the running experiment has come.
    pub fn experiment(&self) -> Option<Progress> {
        self.experiment.map(|(_, progress)| progress)
    }

    /// What the last search for the nearest sentences found.
    pub fn nearest(&self) -> Option<&NearestOutcome> {
        self.nearest.as_ref()
    }

    /// What the last ranking of heads found.
    pub fn importance(&self) -> Option<&Importance> {
        self.importance.as_ref()
    }

    /// Takes in the engine's answers. True if there is a new run.
    pub fn listen(&mut self) -> bool {
        let answers: Vec<Response> = self.link.received().collect();
        let mut fresh = false;
        for answer in answers {
            let id = answer.id();
            let terminal = answer.is_terminal();
            match answer {
                Response::Done { outcome: Outcome::Loaded(info), .. } if self.loading == Some(id) => {
                    self.model = Some(info);
                }
                Response::Done { outcome: Outcome::Run(ran), .. } if self.is_wanted(id) => {
                    self.ran = Some(ran);
                    self.trouble = None;
                    fresh = true;
                }
                Response::Progress { progress, .. } => {
                    if let Some((_, seen)) = self.wanted.as_mut().filter(|(wanted, _)| *wanted == id) {
                        *seen = Some(progress);
                    }
                    if let Some((_, seen)) = self.experiment.as_mut().filter(|(running, _)| *running == id) {
                        *seen = progress;
                    }
                }
                Response::Done { outcome: Outcome::Experiment(outcome), .. } => {
                    match outcome.downcast::<NearestOutcome>() {
                        Ok(nearest) => self.nearest = Some(*nearest),
                        Err(other) => self.importance = other.downcast().ok().map(|found| *found),
                    }
                }
                Response::Failed { cause, .. } if self.experiment.is_some_and(|(running, _)| running == id) => {
                    self.trouble = Some(cause);
                }
                // Without a model every text fails: what the reader needs to hear is why there is none.
                Response::Failed { cause, .. }
                    if self.loading == Some(id) || (self.is_wanted(id) && self.model.is_some()) =>
                {
                    self.trouble = Some(cause);
                }
                _ => {}
            }
            if terminal {
                self.loading = self.loading.filter(|&loading| loading != id);
                self.wanted = self.wanted.filter(|(wanted, _)| *wanted != id);
                self.experiment = self.experiment.filter(|(running, _)| *running != id);
            }
        }
        fresh
    }

    fn is_wanted(&self, id: RequestId) -> bool {
        self.wanted.is_some_and(|(wanted, _)| wanted == id)
    }

    /// How far what the awaited run needs first has come, such as a mean over a text file.
    pub fn preparing(&self) -> Option<Progress> {
        self.wanted?.1
    }

    /// The picture shown is not yet that of the text typed.
    pub fn updating(&self) -> bool {
        self.wanted.is_some()
    }

    pub fn loading(&self) -> bool {
        self.loading.is_some()
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
