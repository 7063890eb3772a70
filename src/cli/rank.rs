use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use serde_json::json;

use super::input::ModelArgs;
use super::texts::TextsArgs;
use super::{print, progress};
use crate::lab::{Importance, LeaveOneOut};
use crate::run::{HeadId, write_whole};

#[derive(Debug, Args)]
pub struct RankArgs {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    texts: TextsArgs,
    /// How a head's importance is found: loo switches each head off by itself.
    #[arg(long, value_enum, default_value = "loo")]
    by: By,
    /// The table to write, most important head first; its ending says what kind: .json or .csv.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum By {
    Loo,
}

pub fn perform(args: &RankArgs) -> Result<()> {
    let ending = args.out.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    if !["json", "csv"].contains(&ending.as_str()) {
        bail!("{} has no ending that says what to write: end it with .json or .csv", args.out.display());
    }
    let texts = Arc::new(args.texts.read()?);
    let model = args.model.open()?;
    let By::Loo = args.by;
    let importance: Importance = progress::run(&mut LeaveOneOut { texts, target: args.texts.target() }, &model)?;
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

/// Heads with their effect and the half width of its interval, greatest effect first.
pub fn ranked(importance: &Importance) -> Vec<(HeadId, f32, Option<f32>)> {
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
