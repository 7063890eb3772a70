//! The arguments that name a model and a text.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use clap::Args;

use super::{note, progress};
use crate::engine::Progress;
use crate::model::{Model, Plan, Sources, find_model};
use crate::run::{Edit, Run, Texts};

#[derive(Debug, Args)]
pub struct ModelArgs {
    /// A model's folder, or the name of one that `headlight models` lists.
    #[arg(long, value_name = "DIR")]
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

#[derive(Debug, Args)]
pub struct InputArgs {
    /// The sentence.
    #[arg(long, value_name = "SENTENCE", required_unless_present = "ids")]
    pub text: Option<String>,
    /// A second sentence, which makes a pair: [CLS] A [SEP] B [SEP].
    #[arg(long, value_name = "SENTENCE", requires = "text")]
    pub text_b: Option<String>,
    /// Token numbers instead of text, special tokens included; no tokenizer is needed.
    #[arg(long, value_name = "NUMBERS", conflicts_with_all = ["text", "text_b"])]
    pub ids: Option<String>,
    /// Do something to heads: HEAD=NAME, as in 3.4=zero, 5.*=uniform or 2.1=cut:4>7. May be given several times.
    #[arg(long = "edit", value_name = "HEAD=NAME")]
    pub edits: Vec<Edit>,
    /// Let the model read its mask in the place of this token, counted from 0. May be given several times.
    #[arg(long = "mask", value_name = "TOKEN")]
    pub masked: Vec<usize>,
}

impl InputArgs {
    /// Runs the input through a model, and tells what the reader must know of it.
    pub fn run(&self, model: &Model) -> Result<Run> {
        let mut input = match &self.ids {
            Some(ids) => model.input_from_ids(ids)?,
            None => {
                let texts = Texts { a: self.text.clone().unwrap_or_default(), b: self.text_b.clone() };
                model.tokenize(&Arc::new(texts))?
            }
        };
        model.mask(&mut input, &self.masked)?;
        let mut sources = Sources::kept();
        progress::show(|update| {
            sources.prepare(model, &self.edits, &mut |done, total| {
                update(Progress { done, total });
                Ok(())
            })
        })?;
        let plan = Plan::new(model, &input, &self.edits, &mut sources)?;
        let run = model.trace(input, plan, self.edits.clone(), None, &mut ())?.into_run();
        for notice in run.notices() {
            note(&notice);
        }
        Ok(run)
    }
}
