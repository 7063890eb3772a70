use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc::{Sender, channel};

use tch::Tensor;

use super::cache::Cache;
use super::inbox::Inbox;
use super::protocol::{Experiment, Forward, Job, Link, Outcome, Progress, Request, RequestId, Response};
use crate::model::{Model, ModelError, Probe};
use crate::run::one_line;

/// How an engine is set up.
#[derive(Debug, Clone)]
pub struct Options {
    /// Memory for attention maps, all runs that are held at once together, in bytes.
    pub map_budget: usize,
    /// How many runs are held at once: the plain one, the edited one that is shown, and the one that comes.
    pub runs_held: usize,
    /// Threads for libtorch; `None` for its own choice.
    pub threads: Option<i32>,
}

impl Default for Options {
    fn default() -> Self {
        Self { map_budget: 1 << 30, runs_held: 3, threads: None }
    }
}

impl Options {
    /// The most tokens whose maps fit the budget.
    fn most_tokens(&self, layers: usize, heads: usize) -> usize {
        let numbers = self.map_budget / self.runs_held.max(1) / (layers * heads * size_of::<f32>()).max(1);
        // Never too few for the special tokens of a pair and one piece of each half.
        numbers.isqrt().max(5)
    }
}

/// Starts the engine's thread. `wake` is called after each response, from that thread: the window has itself
/// repainted.
pub fn spawn(options: Options, wake: impl Fn() + Send + 'static) -> Link {
    let (commands, inbox) = channel();
    let (responses, link_end) = channel();
    let worker = Worker { options, model: None, cache: Cache::default(), responses, wake: Box::new(wake) };
    let thread = std::thread::Builder::new()
        .name("engine".into())
        .spawn(move || worker.serve(Inbox::new(inbox)))
        .inspect_err(|error| tracing::error!("the engine's thread could not start: {error}"))
        .ok();
    Link::new(commands, link_end).with_thread(thread)
}

struct Worker {
    options: Options,
    model: Option<Model>,
    cache: Cache,
    responses: Sender<Response>,
    wake: Box<dyn Fn() + Send>,
}

impl Worker {
    fn serve(mut self, mut inbox: Inbox) {
        if let Some(threads) = self.options.threads {
            tch::set_num_threads(threads);
        }
        let (responses, wake) = (self.responses.clone(), std::mem::replace(&mut self.wake, Box::new(|| ())));
        let send = move |response| {
            // Send, then wake: the window finds the answer when it looks.
            responses.send(response).ok();
            wake();
        };
        let mut drop_request = |id| send(Response::Cancelled { id });
        while let Some(Request { id, job }) = inbox.next(&mut drop_request) {
            send(Response::Started { id });
            // Grad mode belongs to the thread, and is not restored when a job panics: each job sets its own.
            let _no_grad = tch::no_grad_guard();
            let mut wanted = |forward| inbox.wants(id, forward, &mut |id| send(Response::Cancelled { id }));
            let outcome = catch_unwind(AssertUnwindSafe(|| self.perform(id, job, &mut wanted, &send)));
            send(match outcome {
                Ok(Ok(outcome)) => Response::Done { id, outcome },
                Ok(Err(ModelError::Stopped)) => Response::Cancelled { id },
                Ok(Err(error)) => Response::Failed { id, cause: one_line(&error) },
                Err(panic) => Response::Failed { id, cause: format!("internal fault: {}", message(&*panic)) },
            });
        }
    }

    fn perform(
        &mut self,
        id: RequestId,
        job: Job,
        wanted: &mut dyn FnMut(bool) -> bool,
        send: &dyn Fn(Response),
    ) -> Result<Outcome, ModelError> {
        match job {
            Job::Load(folder) => self.load(&folder),
            Job::Forward(forward) => self.forward(&forward, wanted),
            Job::Experiment(mut experiment) => self.experiment(experiment.as_mut(), &mut |progress| {
                send(Response::Progress { id, progress });
                if wanted(false) { Ok(()) } else { Err(ModelError::Stopped) }
            }),
        }
    }

    fn load(&mut self, folder: &Path) -> Result<Outcome, ModelError> {
        let model = Model::open(folder)?;
        let info = model.info().clone();
        self.model = Some(model);
        self.cache = Cache::default();
        Ok(Outcome::Loaded(info))
    }

    fn forward(&mut self, forward: &Forward, wanted: &mut dyn FnMut(bool) -> bool) -> Result<Outcome, ModelError> {
        let model = self.model.as_ref().ok_or(ModelError::NotLoaded)?;
        let most = self.options.most_tokens(model.info().layers, model.info().heads);
        let input = model.tokenize_within(&forward.texts, most)?;
        let (run, plain) = self.cache.run(model, input, &forward.edits, &mut WhileWanted(wanted))?;
        Ok(Outcome::Run { run, plain })
    }

    fn experiment(
        &self,
        experiment: &mut dyn Experiment,
        progress: &mut dyn FnMut(Progress) -> Result<(), ModelError>,
    ) -> Result<Outcome, ModelError> {
        experiment.run(self.model.as_ref().ok_or(ModelError::NotLoaded)?, progress).map(Outcome::Experiment)
    }
}

/// Stops a pass between two layers once nobody wants it.
struct WhileWanted<'a>(&'a mut dyn FnMut(bool) -> bool);

impl Probe for WhileWanted<'_> {
    fn enter(&mut self, _layer: usize, _hidden: &Tensor) -> Result<(), ModelError> {
        if (self.0)(true) { Ok(()) } else { Err(ModelError::Stopped) }
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    text.unwrap_or("no cause was given").lines().next().unwrap_or_default().to_owned()
}
