use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, ValueEnum};
use serde_json::json;

use super::input::ModelArgs;
use super::print;
use crate::engine::{Experiment, Progress};
use crate::lab::{Importance, LeaveOneOut, Target};
use crate::run::{HeadId, Texts, write_whole};

#[derive(Debug, Args)]
pub struct RankArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// A text file, one text a line; for the target similarity one pair a line, with a tab between.
    #[arg(long, value_name = "FILE")]
    texts: PathBuf,
    /// How a head's importance is found: loo switches each head off by itself.
    #[arg(long, value_enum, default_value = "loo")]
    by: By,
    /// What it is found on: a text's vector beside its plain one, or the similarity of a pair.
    #[arg(long, value_enum, default_value = "self")]
    target: TargetArg,
    /// The table to write, most important head first; its ending says what kind: .json or .csv.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum By {
    Loo,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum TargetArg {
    #[value(name = "self")]
    Own,
    Similarity,
}

pub fn perform(args: &RankArgs) -> Result<()> {
    let ending = args.out.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    if !["json", "csv"].contains(&ending.as_str()) {
        bail!("{} has no ending that says what to write: end it with .json or .csv", args.out.display());
    }
    let target = match args.target {
        TargetArg::Own => Target::Own,
        TargetArg::Similarity => Target::Similarity,
    };
    let texts = read_texts(&args.texts, target)?;
    let model = args.model.open()?;
    let By::Loo = args.by;
    let mut experiment = LeaveOneOut { texts: Arc::new(texts), target };
    let mut shown = Shown::default();
    let outcome = experiment.run(&model, &mut |progress| {
        shown.update(progress);
        Ok(())
    });
    shown.clear();
    let importance = outcome?.downcast::<Importance>().map_err(|_| anyhow!("the experiment gave no importance"))?;
    let table = if ending == "json" { as_json(&importance, &model.info().name)? } else { as_csv(&importance) };
    write_whole(&args.out, |partial| std::fs::write(partial, table).map_err(|error| error.to_string()))?;
    let (best, effect) =
        ranked(&importance).first().map_or((HeadId::default(), 0.0), |(head, effect, _)| (*head, *effect));
    print(&format!(
        "{}: {} heads, most important {best} ({effect:+.4})\n",
        args.out.display(),
        importance.effect.len()
    ));
    Ok(())
}

fn read_texts(path: &Path, target: Target) -> Result<Vec<Texts>> {
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

/// Heads with their effect and the half width of its interval, greatest effect first.
fn ranked(importance: &Importance) -> Vec<(HeadId, f32, Option<f32>)> {
    let interval = |at| importance.interval.as_ref().map(|interval| interval[at]);
    let all = importance.effect.indexed_iter();
    let mut heads: Vec<_> = all.map(|(at, &effect)| (HeadId::new(at.0, at.1), effect, interval(at))).collect();
    heads.sort_by(|a, b| b.1.total_cmp(&a.1));
    heads
}

fn as_json(importance: &Importance, model: &str) -> Result<String> {
    let heads: Vec<_> = ranked(importance)
        .into_iter()
        .map(|(head, effect, half)| match half {
            Some(half) => json!({"head": head, "effect": effect, "low": effect - half, "high": effect + half}),
            None => json!({"head": head, "effect": effect}),
        })
        .collect();
    let table = json!({
        "model": model,
        "by": "loo",
        "target": importance.spec.target,
        "texts": importance.spec.texts.len(),
        "plain": importance.plain,
        "mean_effect": importance.effect.mean(),
        "heads": heads,
    });
    Ok(serde_json::to_string_pretty(&table)? + "\n")
}

fn as_csv(importance: &Importance) -> String {
    let mut table = "head,layer,index,effect,low,high\n".to_owned();
    for (head, effect, half) in ranked(importance) {
        let ends = half.map_or(",".to_owned(), |half| format!("{},{}", effect - half, effect + half));
        table.push_str(&format!("{head},{},{},{effect},{ends}\n", head.layer, head.head));
    }
    table
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
            eprint!("\r{text}");
            self.width = text.len();
        }
    }

    fn clear(&self) {
        if self.width > 0 {
            eprint!("\r{:width$}\r", "", width = self.width);
            std::io::stderr().flush().ok();
        }
    }
}
