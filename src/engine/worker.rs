use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc::{Sender, channel};

use tch::Tensor;

use super::cache::Cache;
use super::inbox::Inbox;
use super::protocol::{Experiment, Job, Link, Outcome, Progress, Request, RequestId, Response};
use crate::model::{Model, ModelError, Probe, find_model};
use crate::run::{Recipe, one_line, panic_text};

/// How an engine is set up.
#[derive(Debug, Clone)]
pub struct Options {
    /// Memory for attention maps, all runs that are held at once together, in bytes.
    pub map_budget: usize,
    /// How many runs are held at once: the plain one, the edited one that is shown, one that is pinned, and the one that
    /// comes.
    pub runs_held: usize,
    /// Threads for libtorch; `None` for its own choice.
    pub threads: Option<i32>,
}

impl Default for Options {
    fn default() -> Self {
        Self { map_budget: 1 << 30, runs_held: 4, threads: None }
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
    let desk = Desk { inbox: Inbox::new(inbox), responses, wake: Box::new(wake) };
    let workbench = Workbench { options, ..Workbench::default() };
    let thread = std::thread::Builder::new()
        .name("engine".into())
        .spawn(move || workbench.serve(desk))
        .inspect_err(|error| tracing::error!("the engine's thread could not start: {error}"))
        .ok();
    Link::new(commands, link_end).with_thread(thread)
}

/// The worker's two channels.
struct Desk {
    inbox: Inbox,
    responses: Sender<Response>,
    wake: Box<dyn Fn() + Send>,
}

impl Desk {
    fn send(&self, response: Response) {
        // Send, then wake: the window finds the answer when it looks.
        self.responses.send(response).ok();
        (self.wake)();
    }

    fn next(&mut self) -> Option<Request> {
        let Self { inbox, responses, wake } = self;
        inbox.next(&mut |id| given_up(responses, wake, id))
    }

    fn next_forward(&mut self) -> Option<Request> {
        let Self { inbox, responses, wake } = self;
        inbox.next_forward(&mut |id| given_up(responses, wake, id))
    }

    fn wants(&mut self, id: RequestId) -> bool {
        let Self { inbox, responses, wake } = self;
        inbox.wants(id, &mut |id| given_up(responses, wake, id))
    }

    /// Does a job and gives its terminal answer, whatever happens in it.
    fn answer(&mut self, id: RequestId, job: impl FnOnce(&mut Self) -> Result<Outcome, ModelError>) {
        self.send(Response::Started { id });
        // Grad mode belongs to the thread, and is not restored when a job panics: each job sets its own.
        let _no_grad = tch::no_grad_guard();
        let outcome = catch_unwind(AssertUnwindSafe(|| job(self)));
        self.inbox.end(id);
        self.send(match outcome {
            Ok(Ok(outcome)) => Response::Done { id, outcome },
            Ok(Err(ModelError::Stopped)) => Response::Cancelled { id },
            Ok(Err(error)) => Response::Failed { id, cause: one_line(&error) },
            Err(panic) => Response::Failed { id, cause: format!("internal fault: {}", message(&*panic)) },
        });
    }
}

fn given_up(responses: &Sender<Response>, wake: &(dyn Fn() + Send), id: RequestId) {
    responses.send(Response::Cancelled { id }).ok();
    wake();
}

/// The model in use, with what is kept of the current text.
#[derive(Default)]
struct Workbench {
    options: Options,
    model: Option<Model>,
    cache: Cache,
}

impl Workbench {
    fn serve(mut self, mut desk: Desk) {
        if let Some(threads) = self.options.threads {
            tch::set_num_threads(threads);
        }
        while let Some(Request { id, job }) = desk.next() {
            desk.answer(id, |desk| match job {
                Job::Load(folder) => self.load(id, &folder, desk),
                Job::Forward(forward) => {
                    let Self { options, model, cache } = &mut self;
                    run_forward(options, model.as_ref(), cache, id, &forward, desk)
                }
                Job::Experiment(experiment) => self.experiment(id, experiment, desk),
            });
        }
    }

    fn load(&mut self, id: RequestId, folder: &Path, desk: &mut Desk) -> Result<Outcome, ModelError> {
        let model = Model::open_watched(&find_model(Some(folder))?, &mut |done, total| {
            desk.send(Response::Progress { id, progress: Progress::new(done, total) });
            if desk.wants(id) { Ok(()) } else { Err(ModelError::Stopped) }
        })?;
        let info = model.info().clone();
        self.model = Some(model);
        self.cache = Cache::new();
        Ok(Outcome::Loaded(info))
    }

    fn experiment(
        &mut self,
        id: RequestId,
        mut experiment: Box<dyn Experiment>,
        desk: &mut Desk,
    ) -> Result<Outcome, ModelError> {
        let Self { options, model, cache } = self;
        let model = model.as_ref().ok_or(ModelError::NotLoaded)?;
        let outcome = experiment.run(model, &mut |progress| {
            desk.send(Response::Progress { id, progress });
            // The reader goes on typing meanwhile.
            while let Some(Request { id, job: Job::Forward(forward) }) = desk.next_forward() {
                desk.answer(id, |desk| run_forward(options, Some(model), cache, id, &forward, desk));
            }
            if desk.wants(id) { Ok(()) } else { Err(ModelError::Stopped) }
        })?;
        Ok(Outcome::Experiment(outcome))
    }
}

fn run_forward(
    options: &Options,
    model: Option<&Model>,
    cache: &mut Cache,
    id: RequestId,
    forward: &Recipe,
    desk: &mut Desk,
) -> Result<Outcome, ModelError> {
    let model = model.ok_or(ModelError::NotLoaded)?;
    let most = options.most_tokens(model.info().layers, model.info().heads);
    let mut input = model.tokenize_within(&forward.texts, most)?;
    for &token in &forward.masked {
        // While a reader types, a token can be gone: its mask goes with it.
        model.mask(&mut input, &[token]).ok();
    }
    cache.prepare(model, &forward.edits, &mut |done, total| {
        desk.send(Response::Progress { id, progress: Progress::new(done, total) });
        let wanted = desk.wants(id) && !desk.inbox.has_forward();
        if wanted { Ok(()) } else { Err(ModelError::Stopped) }
    })?;
    Ok(Outcome::Run(cache.run(model, input, forward, &mut WhileWanted { id, desk })?))
}

/// Stops a pass between two layers once nobody wants it, or a newer text waits.
struct WhileWanted<'a> {
    id: RequestId,
    desk: &'a mut Desk,
}

impl Probe for WhileWanted<'_> {
    fn enter(&mut self, _layer: usize, _hidden: &Tensor) -> Result<(), ModelError> {
        let wanted = self.desk.wants(self.id) && !self.desk.inbox.has_forward();
        if wanted { Ok(()) } else { Err(ModelError::Stopped) }
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    panic_text(panic).unwrap_or("no cause was given").lines().next().unwrap_or_default().to_owned()
}
