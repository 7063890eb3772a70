//! Files of texts, as experiments take them.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, ValueEnum};

use crate::lab::Target;
use crate::run::Texts;

#[derive(Debug, Args)]
pub struct TextsArgs {
    /// A text file, one text a line; for the target similarity one pair a line, with a tab between.
    #[arg(long, value_name = "FILE")]
    texts: PathBuf,
    /// What the effect is found on: a text's vector beside its plain one, or the similarity of a pair.
    #[arg(long, value_enum, default_value = "self")]
    target: TargetArg,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum TargetArg {
    #[value(name = "self")]
    Own,
    Similarity,
}

impl TextsArgs {
    pub fn target(&self) -> Target {
        match self.target {
            TargetArg::Own => Target::Own,
            TargetArg::Similarity => Target::Similarity,
        }
    }

    pub fn read(&self) -> Result<Vec<Texts>> {
        read(&self.texts, self.target())
    }
}

fn read(path: &Path, target: Target) -> Result<Vec<Texts>> {
    let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let text = String::from_utf8(text).map_err(|_| anyhow!("{} is not UTF-8 text", path.display()))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let texts: Vec<Texts> = lines
        .map(|(number, line)| match (target, line.split_once('\t')) {
            (Target::Own, _) => Ok(Texts::single(line)),
            (Target::Similarity, Some((a, b))) => Ok(Texts::pair(a, b)),
            (Target::Similarity, None) => Err(anyhow!(
                "line {} of {} has no tab: the target similarity takes a pair a line, with a tab between",
                number + 1,
                path.display()
            )),
        })
        .collect::<Result<_>>()?;
    if texts.is_empty() {
        bail!("{} holds no text", path.display());
    }
    Ok(texts)
}
