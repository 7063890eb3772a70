//! The texts of an experiment: a file of them, or one that is given by itself.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use clap::Args;

use super::input::{STANDARD_INPUT, standard_input};
use super::output::is_standard;
use crate::lab::{Example, Target};
use crate::model::Model;
use crate::run::{Texts, lines_of, read_lines};

#[derive(Debug, Args)]
pub struct TextsArgs {
    /// A text file, one text a line, or - for standard input; a tab makes a pair. For loss and accuracy a tab and the right answer follow.
    #[arg(long, value_name = "FILE", required_unless_present = "text", conflicts_with = "text")]
    texts: Option<PathBuf>,
    /// One text, in place of a file of them.
    #[arg(long, value_name = "SENTENCE", allow_hyphen_values = true)]
    text: Option<String>,
    /// A second text, which makes a pair.
    #[arg(long, value_name = "SENTENCE", requires = "text", allow_hyphen_values = true)]
    text_b: Option<String>,
    /// The right answer of the text, for loss and accuracy.
    #[arg(long, value_name = "ANSWER", requires = "text", allow_hyphen_values = true)]
    answer: Option<String>,
    /// What the effect is found on: self (a text's vector beside its plain one), similarity (of a pair), class:NAME,
    /// word:POS=PIECE (where token POS is masked), loss or accuracy.
    #[arg(long, default_value = "self", allow_hyphen_values = true)]
    pub target: Target,
}

impl TextsArgs {
    pub fn read(&self, model: &Model) -> Result<Vec<Example>> {
        let main = model.info().tasks.first().map(|info| info.task);
        let Some(texts) = &self.texts else {
            let texts = Texts { a: self.text.clone().unwrap_or_default(), b: self.text_b.clone() };
            let example = Example::given(texts, self.answer.clone(), &self.target, main);
            return Ok(vec![example.map_err(|cause| anyhow!(cause))?]);
        };
        let standard = is_standard(texts);
        let name = if standard { Path::new(STANDARD_INPUT) } else { texts };
        let example = |(number, line): (usize, String)| {
            let example = Example::from_line(&line, &self.target, main);
            example.map_err(|cause| anyhow!("line {number} of {} {cause}", name.display()))
        };
        let lines = if standard { lines_of(&standard_input()?, name)? } else { read_lines(name)? };
        lines.into_iter().map(example).collect()
    }
}
