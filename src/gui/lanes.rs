//! Threads beside the window: of each kind of work one piece is done at a time and one waits, the latest.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Work = Box<dyn FnOnce() + Send>;

/// However fast work is asked for and however slow the machine is, no more than two pieces of a kind are held: one under
/// way, and the latest that was asked for since. Those between them are passed over.
pub struct Lanes<Kind> {
    /// The kinds that are under way, each with what waits behind it.
    busy: Arc<Mutex<HashMap<Kind, Option<Work>>>>,
}

impl<Kind> Default for Lanes<Kind> {
    fn default() -> Self {
        Self { busy: Arc::default() }
    }
}

impl<Kind: Clone + Eq + Hash + Send + 'static> Lanes<Kind> {
    /// Does work on a thread of its own: at once, or when the piece of its kind that is under way is done.
    pub fn start(&self, kind: Kind, work: impl FnOnce() + Send + 'static) {
        match locked(&self.busy).entry(kind.clone()) {
            Entry::Occupied(mut lane) => {
                lane.insert(Some(Box::new(work)));
                return;
            }
            Entry::Vacant(lane) => lane.insert(None),
        };
        let busy = self.busy.clone();
        std::thread::spawn(move || {
            work();
            while let Some(next) = next(&busy, &kind) {
                next();
            }
        });
    }

    /// Work of this kind is under way.
    pub fn is_busy(&self, kind: &Kind) -> bool {
        locked(&self.busy).contains_key(kind)
    }

    /// How many pieces of some kinds are under way or wait.
    pub fn held(&self, counts: impl Fn(&Kind) -> bool) -> usize {
        let busy = locked(&self.busy);
        let pieces = |waiting: &Option<Work>| 1 + usize::from(waiting.is_some());
        busy.iter().filter(|(kind, _)| counts(kind)).map(|(_, waiting)| pieces(waiting)).sum()
    }
}

/// What waits behind the piece that is done; where nothing does, the kind is free.
fn next<Kind: Eq + Hash>(busy: &Mutex<HashMap<Kind, Option<Work>>>, kind: &Kind) -> Option<Work> {
    let mut busy = locked(busy);
    let waiting = busy.get_mut(kind).and_then(Option::take);
    if waiting.is_none() {
        busy.remove(kind);
    }
    waiting
}

/// Work runs outside the lock, so that a panic in it leaves nothing half done.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn of_each_kind_one_piece_is_done_and_the_latest_waits() {
        let lanes = Lanes::default();
        let (done, finished) = channel();
        let (open, gate) = channel::<()>();
        let (first, last) = (done.clone(), done.clone());
        lanes.start("picture", move || {
            gate.recv().ok();
            first.send("first").ok();
        });
        for _ in 0..1000 {
            let passed_over = done.clone();
            lanes.start("picture", move || passed_over.send("between").unwrap_or_default());
        }
        lanes.start("picture", move || last.send("last").unwrap_or_default());
        assert_eq!(lanes.held(|_| true), 2, "one under way, one waiting");
        assert!(lanes.is_busy(&"picture") && !lanes.is_busy(&"curve"));
        // Another kind does not wait.
        lanes.start("curve", move || done.send("other").unwrap_or_default());
        assert_eq!(finished.recv(), Ok("other"));
        open.send(()).unwrap();
        assert_eq!((finished.recv(), finished.recv()), (Ok("first"), Ok("last")));
        assert!(finished.recv().is_err(), "nothing more is done, and nothing is held");
    }
}
