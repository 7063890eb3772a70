//! The arguments that name a model and a text.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Result};
use clap::Args;

use super::output::is_standard;
use super::{note, progress};
use crate::engine::Progress;
use crate::model::{Model, Plan, Sources, find_model};
use crate::run::{Edit, Recipe, Run, Texts};
use crate::session::Session;

#[derive(Debug, Args)]
pub struct ModelArgs {
    /// A model's folder, or the name of one that `headlight models` lists.
    #[arg(long, value_name = "DIR", allow_hyphen_values = true)]
    pub model: Option<PathBuf>,
}

impl ModelArgs {
    pub fn open(&self) -> Result<Model> {
        Ok(Model::open(&self.folder()?)?)
    }

    pub fn folder(&self) -> Result<PathBuf> {
        Ok(find_model(self.model.as_deref())?)
    }
}

/// What standard input is called in sentences.
pub const STANDARD_INPUT: &str = "standard input";

/// All that comes in.
pub fn standard_input() -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes).context("cannot read standard input")?;
    Ok(bytes)
}

/// Reads a session from a file, or for “-” from standard input.
pub fn read_session(path: &Path) -> Result<Session> {
    if is_standard(path) {
        return Ok(Session::from_json(&standard_input()?, Path::new(STANDARD_INPUT))?);
    }
    Ok(Session::read(path)?)
}

#[derive(Debug, Args)]
pub struct InputArgs {
    /// The sentence.
    #[arg(long, value_name = "SENTENCE", required_unless_present_any = ["ids", "session"], allow_hyphen_values = true)]
    pub text: Option<String>,
    /// A second sentence, which makes a pair: [CLS] A [SEP] B [SEP].
    #[arg(long, value_name = "SENTENCE", requires = "text", allow_hyphen_values = true)]
    pub text_b: Option<String>,
    /// Token numbers instead of text, special tokens included; no tokenizer is needed.
    #[arg(long, value_name = "NUMBERS", conflicts_with_all = ["text", "text_b"], allow_hyphen_values = true)]
    pub ids: Option<String>,
    /// Take texts, masks, edits and the model from a session that was saved in the window; - is standard input.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["text", "text_b", "ids"])]
    pub session: Option<PathBuf>,
    /// Read once: standard input does not come twice.
    #[arg(skip)]
    session_read: OnceLock<Session>,
    /// Do something to heads: HEAD=NAME, as in 3.4=zero, 5.*=uniform or 2.1=cut:4>7. May be given several times.
    #[arg(long = "edit", value_name = "HEAD=NAME", allow_hyphen_values = true)]
    pub edits: Vec<Edit>,
    /// Let the model read its mask in the place of this token, counted from 0. May be given several times.
    #[arg(long = "mask", value_name = "TOKEN", allow_hyphen_values = true)]
    pub masked: Vec<usize>,
}

impl InputArgs {
    /// Opens the model that is named, else that of the session, else the default.
    pub fn open(&self, model: &ModelArgs) -> Result<Model> {
        match self.session()? {
            Some(session) if model.model.is_none() => Ok(Model::open(&find_model(Some(&session.model.place()))?)?),
            _ => model.open(),
        }
    }

    fn session(&self) -> Result<Option<&Session>> {
        let Some(path) = &self.session else { return Ok(None) };
        let session = match self.session_read.get() {
            Some(read) => read,
            None => {
                let read = read_session(path)?;
                self.session_read.get_or_init(|| read)
            }
        };
        Ok(Some(session))
    }

    /// Runs the input through a model, and tells what the reader must know of it.
    pub fn run(&self, model: &Model) -> Result<Run> {
        let texts = Texts { a: self.text.clone().unwrap_or_default(), b: self.text_b.clone() };
        let recipe = self.session()?.map_or_else(|| Recipe::plain(texts), |session| session.recipe());
        let mut input = match &self.ids {
            Some(ids) => model.input_from_ids(ids)?,
            None => model.tokenize(&recipe.texts)?,
        };
        model.mask(&mut input, &[recipe.masked, self.masked.clone()].concat())?;
        let edits = [recipe.edits, self.edits.clone()].concat();
        let mut sources = Sources::kept();
        progress::show(|update| {
            sources.prepare(model, &edits, &mut |done, total| {
                update(Progress::new(done, total));
                Ok(())
            })
        })?;
        let plan = Plan::new(model, &input, &edits, &mut sources)?;
        let run = model.trace(input, plan, edits, None, &mut ())?.into_run();
        for notice in run.notices() {
            note(&notice);
        }
        Ok(run)
    }
}
