use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::model::{Model, ModelError};
use crate::run::{Embedding, ModelInfo, Recipe, Run};

/// Names a request; a later request has a larger number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(pub u64);

/// Something to be done, with the name that its answers carry.
#[derive(Debug)]
pub struct Request {
    pub id: RequestId,
    pub job: Job,
}

/// What the engine can do. Every job gets exactly one terminal answer: done, failed or cancelled.
#[derive(Debug)]
pub enum Job {
    /// Opens a model by its folder, or by its name among the models that are found; the model in use stays until the new one is ready.
    /// Its progress counts bytes of the weights; all have been read when the tokenizer's turn comes.
    Load(PathBuf),
    /// Runs a text through the model. An edit that does not apply to the text, and a mask of a token that is not there,
    /// are left out with a remark. A newer forward job replaces one that waits and stops one that runs.
    Forward(Recipe),
    /// Any other work that needs the model.
    Experiment(Box<dyn Experiment>),
}

/// Work on the engine's thread that outlives no borrow of the model and gives back plain data.
pub trait Experiment: Send {
    /// What it is, for progress and error messages.
    fn name(&self) -> String;

    /// Does the work. `progress` is called now and then, and its error ([`ModelError::Stopped`]) handed on: that is
    /// how a cancelled experiment ends.
    ///
    /// # Errors
    /// Whatever went wrong.
    fn run(
        &mut self,
        model: &Model,
        progress: &mut dyn FnMut(Progress) -> Result<(), ModelError>,
    ) -> Result<Box<dyn Any + Send>, ModelError>;
}

impl std::fmt::Debug for dyn Experiment {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Experiment({})", self.name())
    }
}

/// How far a job has come.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    pub done: usize,
    pub total: usize,
    /// What has been found so far, of the kind of the outcome, where the experiment can tell.
    pub found: Option<Arc<dyn Any + Send + Sync>>,
}

impl Progress {
    pub fn new(done: usize, total: usize) -> Self {
        Self { done, total, found: None }
    }
}

/// What is sent to the engine.
#[derive(Debug)]
pub enum Command {
    Submit(Request),
    /// Ends a job that waits or runs. Without effect on one that has ended.
    Cancel(RequestId),
}

/// What comes back from the engine.
#[derive(Debug)]
pub enum Response {
    Started {
        id: RequestId,
    },
    Progress {
        id: RequestId,
        progress: Progress,
    },
    Done {
        id: RequestId,
        outcome: Outcome,
    },
    /// The cause in one sentence.
    Failed {
        id: RequestId,
        cause: String,
    },
    /// Given up because a newer job replaced it or it was cancelled.
    Cancelled {
        id: RequestId,
    },
}

impl Response {
    pub fn id(&self) -> RequestId {
        match self {
            Self::Started { id }
            | Self::Progress { id, .. }
            | Self::Done { id, .. }
            | Self::Failed { id, .. }
            | Self::Cancelled { id } => *id,
        }
    }

    /// No further answer to this request will come.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Done { .. } | Self::Failed { .. } | Self::Cancelled { .. })
    }
}

/// What a job brought.
#[derive(Debug)]
pub enum Outcome {
    Loaded(Arc<ModelInfo>),
    Run(Ran),
    Experiment(Box<dyn Any + Send>),
}

/// What a text brought.
#[derive(Debug, Clone)]
pub struct Ran {
    pub run: Arc<Run>,
    /// The plain run of the same text: the same run where nothing was edited.
    pub plain: Arc<Run>,
    /// For a pair, each half's vector from a forward of its own: similarity comes from these, however the pair is shown.
    pub halves: Option<Box<[Half; 2]>>,
}

/// One half of a pair by itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Half {
    pub plain: Embedding,
    pub edited: Embedding,
}

/// One end of the conversation: what the window holds. A script can hold the other end in tests.
///
/// Dropping it ends the engine: a running forward stops between two layers.
#[derive(Debug)]
pub struct Link {
    /// `None` only while the link is being dropped.
    commands: Option<Sender<Command>>,
    responses: Receiver<Response>,
    next: AtomicU64,
    thread: Option<JoinHandle<()>>,
}

impl Link {
    /// A link to whoever holds the other ends of the two channels.
    pub fn new(commands: Sender<Command>, responses: Receiver<Response>) -> Self {
        Self { commands: Some(commands), responses, next: AtomicU64::new(1), thread: None }
    }

    /// A link that waits for the engine's thread when it is dropped.
    pub(super) fn with_thread(mut self, thread: Option<JoinHandle<()>>) -> Self {
        self.thread = thread;
        self
    }

    /// Sends a job and gives the name that its answers will carry. It never waits.
    pub fn submit(&self, job: Job) -> RequestId {
        let id = RequestId(self.next.fetch_add(1, Ordering::Relaxed));
        self.send(Command::Submit(Request { id, job }));
        id
    }

    /// Opens a model folder.
    pub fn load(&self, folder: PathBuf) -> RequestId {
        self.submit(Job::Load(folder))
    }

    /// Gives up a job.
    pub fn cancel(&self, id: RequestId) {
        self.send(Command::Cancel(id));
    }

    /// What has come back since the last call, without waiting.
    pub fn received(&self) -> impl Iterator<Item = Response> {
        self.responses.try_iter()
    }

    /// Waits for the next answer; `None` if the engine has gone or nothing came in time.
    pub fn wait(&self, most: Duration) -> Option<Response> {
        self.responses.recv_timeout(most).ok()
    }

    fn send(&self, command: Command) {
        if let Some(commands) = &self.commands {
            // An engine that has gone answers nothing, and there is nobody to tell.
            commands.send(command).ok();
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // Without its sender the thread ends, and then it can be joined.
        drop(self.commands.take());
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}
