//! Files of texts, as experiments take them.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use clap::Args;

use super::input::{STANDARD_INPUT, standard_input};
use super::output::is_standard;
use crate::lab::{Example, Target};
use crate::model::Model;
use crate::run::{lines_of, read_lines};

#[derive(Debug, Args)]
pub struct TextsArgs {
    /// A text file, one text a line, or - for standard input; a tab makes a pair. For loss and accuracy a tab and the right answer follow.
    #[arg(long, value_name = "FILE")]
    texts: PathBuf,
    /// What the effect is found on: self (a text's vector beside its plain one), similarity (of a pair), class:NAME,
    /// word:POS=PIECE (where token POS is masked), loss or accuracy.
    #[arg(long, default_value = "self", allow_hyphen_values = true)]
    pub target: Target,
}

impl TextsArgs {
    pub fn read(&self, model: &Model) -> Result<Vec<Example>> {
        let main = model.info().tasks.first().map(|info| info.task);
        let standard = is_standard(&self.texts);
        let name = if standard { Path::new(STANDARD_INPUT) } else { &self.texts };
        let example = |(number, line): (usize, String)| {
            let example = Example::from_line(&line, &self.target, main);
            example.map_err(|cause| anyhow!("line {number} of {} {cause}", name.display()))
        };
        let lines = if standard { lines_of(&standard_input()?, name)? } else { read_lines(name)? };
        lines.into_iter().map(example).collect()
    }
}
