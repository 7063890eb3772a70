//! How far an experiment has come, on a terminal.

use std::io::{IsTerminal, Write};

use anyhow::{Result, anyhow};

use crate::engine::{Experiment, Progress};
use crate::model::Model;

/// Runs an experiment to its end and gives its outcome.
pub fn run<T: 'static>(experiment: &mut dyn Experiment, model: &Model) -> Result<T> {
    let outcome = show(|update| {
        experiment.run(model, &mut |progress| {
            update(progress);
            Ok(())
        })
    });
    outcome?.downcast::<T>().map(|outcome| *outcome).map_err(|_| anyhow!("the experiment gave another outcome"))
}

/// Does work that tells how far it has come.
pub fn show<T>(work: impl FnOnce(&mut dyn FnMut(Progress)) -> T) -> T {
    let mut shown = Shown::default();
    let outcome = work(&mut |progress| shown.update(progress));
    shown.clear();
    outcome
}

/// Progress on a terminal's own line; nothing where standard error is a file.
#[derive(Default)]
struct Shown {
    width: usize,
}

impl Shown {
    fn update(&mut self, progress: Progress) {
        if std::io::stderr().is_terminal() {
            let text = format!("{} of {}", progress.done, progress.total);
            write!(std::io::stderr(), "\r{text}").ok();
            self.width = text.len();
        }
    }

    fn clear(&self) {
        if self.width > 0 {
            write!(std::io::stderr(), "\r{:width$}\r", "", width = self.width).ok();
        }
    }
}
