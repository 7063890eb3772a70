//! What waits to be done, and whether what is being done is still wanted.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, TryRecvError};

use super::protocol::{Command, Job, Request, RequestId};

/// The worker's side of the command channel: a queue in which a newer job replaces an older one of its kind.
pub(super) struct Inbox {
    commands: Receiver<Command>,
    waiting: VecDeque<Request>,
    closed: bool,
}

/// Whether a new job makes a waiting one pointless. A load never does: the newer folder may prove to be no model.
fn replaces(new: &Job, old: &Job) -> bool {
    matches!((new, old), (Job::Forward(_), Job::Forward(_)))
}

impl Inbox {
    pub fn new(commands: Receiver<Command>) -> Self {
        Self { commands, waiting: VecDeque::new(), closed: false }
    }

    /// Waits for the next job. `drop` hears of those that were given up while they waited. `None` when the other
    /// side has gone: nobody is left to read an answer.
    pub fn next(&mut self, drop: &mut dyn FnMut(RequestId)) -> Option<Request> {
        loop {
            self.drain(None, drop);
            if self.closed {
                return None;
            }
            if let Some(request) = self.waiting.pop_front() {
                return Some(request);
            }
            match self.commands.recv() {
                Ok(command) => {
                    self.accept(command, None, drop);
                }
                Err(_) => self.closed = true,
            }
        }
    }

    /// Whether a running job is still wanted: no newer forward waits to replace this one, nobody cancelled it, and
    /// somebody is left to read its answer.
    pub fn wants(&mut self, id: RequestId, forward: bool, drop: &mut dyn FnMut(RequestId)) -> bool {
        let cancelled = !self.drain(Some(id), drop);
        let newer = forward && self.waiting.iter().any(|request| matches!(request.job, Job::Forward(_)));
        !cancelled && !newer && !self.closed
    }

    /// Takes in what has been sent; false if the running job was cancelled.
    fn drain(&mut self, running: Option<RequestId>, drop: &mut dyn FnMut(RequestId)) -> bool {
        let mut kept = true;
        loop {
            match self.commands.try_recv() {
                Ok(command) => kept &= self.accept(command, running, drop),
                Err(TryRecvError::Empty) => return kept,
                Err(TryRecvError::Disconnected) => {
                    self.closed = true;
                    return kept;
                }
            }
        }
    }

    /// Files a command; false if it cancels the running job.
    fn accept(&mut self, command: Command, running: Option<RequestId>, drop: &mut dyn FnMut(RequestId)) -> bool {
        match command {
            Command::Submit(new) => {
                self.remove(|old| replaces(&new.job, &old.job), drop);
                self.waiting.push_back(new);
                true
            }
            Command::Cancel(id) => {
                self.remove(|old| old.id == id, drop);
                running != Some(id)
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
