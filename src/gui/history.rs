//! What can be taken back: edits on heads, texts, and how they are looked at, in the order in which they were changed.

use std::collections::BTreeSet;

use super::lang::tr;
use super::pins::Pin;
use crate::run::{HeadId, PoolBy, ViewSpec};

/// Everything but edits, as it was at some moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Snapshot {
    pub texts: [String; 2],
    pub view: ViewSpec,
    pub selection: BTreeSet<HeadId>,
    pub pool: Option<PoolBy>,
    pub held: Option<Pin>,
}

impl Snapshot {
    /// What tells one moment from the next, as the reader would call it.
    fn difference(&self, other: &Self) -> &'static str {
        if self.texts != other.texts {
            tr!("text")
        } else if self.view.head != other.view.head {
            tr!("head")
        } else if (&self.selection, self.pool) != (&other.selection, other.pool) {
            tr!("selection")
        } else if self.held != other.held {
            tr!("pinned token")
        } else {
            tr!("view")
        }
    }
}

/// One thing that was changed.
#[derive(Debug, Clone)]
enum Step {
    /// Edits have a history of their own.
    Edits,
    /// What was there before, or after where the step was taken back.
    State(&'static str, Box<Snapshot>),
}

#[derive(Debug, Default)]
pub struct History {
    done: Vec<Step>,
    undone: Vec<Step>,
    /// The moment before, and the edits that had been made by then.
    last: Option<(Snapshot, u64)>,
    /// When the last step was made, in seconds.
    at: f64,
}

/// Changes of one kind that follow each other within so many seconds are one step.
const PAUSE: f64 = 1.0;
/// More steps are not kept.
const MOST: usize = 300;

/// What is to be put back.
#[derive(Debug)]
pub enum Back {
    Edits,
    State(&'static str, Box<Snapshot>),
}

impl History {
    /// Takes note of a moment: `edits` counts the edits made so far. Gives the texts that the reader has left for others.
    pub fn note(&mut self, now: f64, snapshot: &Snapshot, edits: u64) -> Option<[String; 2]> {
        let Some((last, counted)) = &mut self.last else {
            self.last = Some((snapshot.clone(), edits));
            return None;
        };
        let mut left = None;
        if last != snapshot {
            let name = last.difference(snapshot);
            let goes_on = matches!(self.done.last(), Some(Step::State(other, _)) if *other == name);
            if !goes_on || now - self.at > PAUSE {
                self.done.push(Step::State(name, Box::new(last.clone())));
                left = (name == tr!("text")).then(|| last.texts.clone());
            }
            *last = snapshot.clone();
            self.at = now;
            self.undone.clear();
        }
        if *counted != edits {
            *counted = edits;
            self.done.push(Step::Edits);
            self.undone.clear();
        }
        let many = self.done.len().saturating_sub(MOST);
        self.done.drain(..many);
        left
    }

    pub fn can_undo(&self) -> bool {
        !self.done.is_empty()
    }

    pub fn can_redo(&self) -> bool {
        !self.undone.is_empty()
    }

    /// What is to be put back to take the last step back.
    pub fn undo(&mut self) -> Option<Back> {
        let step = self.done.pop()?;
        let (back, inverse) = self.turned(step);
        self.undone.push(inverse);
        Some(back)
    }

    /// What is to be put back to do again what was taken back last.
    pub fn redo(&mut self) -> Option<Back> {
        let step = self.undone.pop()?;
        let (back, inverse) = self.turned(step);
        self.done.push(inverse);
        Some(back)
    }

    /// What a step puts back, and the step that undoes that.
    fn turned(&mut self, step: Step) -> (Back, Step) {
        // The next change begins a step of its own.
        self.at = f64::NEG_INFINITY;
        match step {
            Step::Edits => (Back::Edits, Step::Edits),
            Step::State(name, before) => {
                let now = self.last.as_ref().map(|(now, _)| now.clone()).unwrap_or_default();
                if let Some((last, _)) = &mut self.last {
                    *last = (*before).clone();
                }
                (Back::State(name, before), Step::State(name, Box::new(now)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Snapshot {
        Snapshot { texts: [text.into(), String::new()], ..Snapshot::default() }
    }

    fn put_back(back: Option<Back>) -> String {
        match back {
            Some(Back::State(name, state)) => format!("{name}: {}", state.texts[0]),
            Some(Back::Edits) => "edits".into(),
            None => "nothing".into(),
        }
    }

    #[test]
    fn typing_is_one_step_until_it_pauses_and_edits_keep_their_place() {
        let mut history = History::default();
        history.note(0.0, &text(""), 0);
        for (now, typed) in [(1.0, "a"), (1.2, "ab"), (5.0, "abc")] {
            history.note(now, &text(typed), 0);
        }
        history.note(6.0, &text("abc"), 1);
        assert_eq!(put_back(history.undo()), "edits");
        assert_eq!(put_back(history.undo()), "text: ab");
        assert_eq!(put_back(history.undo()), "text: ");
        assert!(!history.can_undo());
        assert_eq!(put_back(history.redo()), "text: ab");
        assert_eq!(put_back(history.redo()), "text: abc");
        assert_eq!(put_back(history.redo()), "edits");
        assert!(!history.can_redo() && history.can_undo());
        // A moment that was put back is no change.
        history.undo();
        history.note(7.0, &text("abc"), 1);
        assert!(history.can_redo());
        history.note(8.0, &text("other"), 1);
        assert!(!history.can_redo());
    }
}
