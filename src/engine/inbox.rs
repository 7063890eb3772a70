//! What waits to be done, and whether what is being done is still wanted.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, TryRecvError};

use super::protocol::{Command, Job, Request, RequestId};

/// The worker's side of the command channel: a queue in which a newer text replaces an older one.
pub(super) struct Inbox {
    commands: Receiver<Command>,
    waiting: VecDeque<Request>,
    /// What is under way: a text can interrupt an experiment.
    running: Vec<Running>,
    closed: bool,
}

struct Running {
    id: RequestId,
    cancelled: bool,
}

/// Whether a new job makes a waiting one pointless. A load never does: the newer folder may prove to be no model.
fn replaces(new: &Job, old: &Job) -> bool {
    matches!((new, old), (Job::Forward(_), Job::Forward(_)))
}

impl Inbox {
    pub fn new(commands: Receiver<Command>) -> Self {
        Self { commands, waiting: VecDeque::new(), running: Vec::new(), closed: false }
    }

    /// Waits for the next job, which then counts as running. `drop` hears of those that were given up while they
    /// waited. `None` when the other side has gone: nobody is left to read an answer.
    pub fn next(&mut self, drop: &mut dyn FnMut(RequestId)) -> Option<Request> {
        loop {
            self.drain(drop);
            if self.closed {
                return None;
            }
            if let Some(request) = self.waiting.pop_front() {
                return Some(self.begin(request));
            }
            match self.commands.recv() {
                Ok(command) => self.accept(command, drop),
                Err(_) => self.closed = true,
            }
        }
    }

    /// The text that waits, if one does; it then counts as running. An experiment lets it go first.
    pub fn next_forward(&mut self, drop: &mut dyn FnMut(RequestId)) -> Option<Request> {
        self.drain(drop);
        let at = self.waiting.iter().position(|request| matches!(request.job, Job::Forward(_)))?;
        self.waiting.remove(at).map(|request| self.begin(request))
    }

    fn begin(&mut self, request: Request) -> Request {
        self.running.push(Running { id: request.id, cancelled: false });
        request
    }

    /// A job has got its terminal answer.
    pub fn end(&mut self, id: RequestId) {
        self.running.retain(|running| running.id != id);
    }

    /// Whether a running job is still wanted: nobody cancelled it, and somebody is left to read its answer.
    pub fn wants(&mut self, id: RequestId, drop: &mut dyn FnMut(RequestId)) -> bool {
        self.drain(drop);
        !self.closed && self.running.iter().any(|running| running.id == id && !running.cancelled)
    }

    /// Whether a newer text waits, which replaces the one that runs.
    pub fn has_forward(&self) -> bool {
        self.waiting.iter().any(|request| matches!(request.job, Job::Forward(_)))
    }

    /// Takes in what has been sent.
    fn drain(&mut self, drop: &mut dyn FnMut(RequestId)) {
        loop {
            match self.commands.try_recv() {
                Ok(command) => self.accept(command, drop),
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => {
                    self.closed = true;
                    return;
                }
            }
        }
    }

    fn accept(&mut self, command: Command, drop: &mut dyn FnMut(RequestId)) {
        match command {
            Command::Submit(new) => {
                self.remove(|old| replaces(&new.job, &old.job), drop);
                self.waiting.push_back(new);
            }
            Command::Cancel(id) => {
                self.remove(|old| old.id == id, drop);
                for running in self.running.iter_mut().filter(|running| running.id == id) {
                    running.cancelled = true;
                }
            }
        }
    }

    fn remove(&mut self, doomed: impl Fn(&Request) -> bool, drop: &mut dyn FnMut(RequestId)) {
        self.waiting.retain(|request| {
            let goes = doomed(request);
            if goes {
                drop(request.id);
            }
            !goes
        });
    }
}
