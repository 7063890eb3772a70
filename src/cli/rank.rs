use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use serde_json::json;

use super::input::ModelArgs;
use super::texts::TextsArgs;
use super::{note, print, progress};
use crate::lab::{GradientImportance, Importance, LeaveOneOut, Sensitivity, Target};
use crate::run::{HeadId, write_bytes};

#[derive(Debug, Args)]
pub struct RankArgs {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    texts: TextsArgs,
    /// How a head's importance is found: loo switches each head off by itself, gradient takes how sensitive the
    /// similarity of pairs is to each head (Michel et al. 2019).
    #[arg(long, value_enum, default_value = "loo")]
    by: By,
    /// The table to write, most important head first; its ending says what kind: .json or .csv.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    Loo,
    Gradient,
}

pub fn perform(args: &RankArgs) -> Result<()> {
    let ending = args.out.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    if !["json", "csv"].contains(&ending.as_str()) {
        bail!("{} has no ending that says what to write: end it with .json or .csv", args.out.display());
    }
    if args.by == By::Gradient && args.texts.target() == Target::Own {
        bail!(
            "the target self is at its maximum in the plain model, so its gradient is 0: \
             take --target similarity, or --by loo"
        );
    }
    let texts = Arc::new(args.texts.read()?);
    let model = args.model.open()?;
    let name = &model.info().name;
    let (table, (best, effect)) = match args.by {
        By::Loo => {
            let mut experiment = LeaveOneOut { texts, target: args.texts.target() };
            let importance: Importance = progress::run(&mut experiment, &model)?;
            let table = if ending == "json" { as_json(&importance, name)? } else { as_csv(&importance) };
            (table, ranked(&importance).first().map_or_else(Default::default, |(head, effect, _)| (*head, *effect)))
        }
        By::Gradient => {
            let pairs = texts.len();
            let found: Sensitivity = progress::run(&mut GradientImportance { pairs: texts }, &model)?;
            for layer in &found.silent {
                note(&format!("layer {layer} has no signal, and its heads are left at 0"));
            }
            let table = if ending == "json" { gradient_json(&found, name, pairs)? } else { gradient_csv(&found) };
            (table, by_gradient(&found).first().map_or_else(Default::default, |(head, _, scaled)| (*head, *scaled)))
        }
    };
    write_bytes(&args.out, table)?;
    let heads = model.info().layers * model.info().heads;
    print(&format!("{}: {heads} heads, most important {best} ({effect:+.4})\n", args.out.display()));
    Ok(())
}

/// Heads with their gradient and the one scaled within its layer, greatest scaled one first.
fn by_gradient(found: &Sensitivity) -> Vec<(HeadId, f32, f32)> {
    let all = found.normalized.indexed_iter();
    let mut heads: Vec<_> = all.map(|(at, &scaled)| (HeadId::new(at.0, at.1), found.raw[at], scaled)).collect();
    heads.sort_by(|a, b| b.2.total_cmp(&a.2));
    heads
}

fn gradient_json(found: &Sensitivity, model: &str, pairs: usize) -> Result<String> {
    let one = |(head, raw, scaled): (HeadId, f32, f32)| json!({"head": head, "importance": scaled, "gradient": raw});
    let table = json!({
        "model": model,
        "by": "gradient",
        "target": Target::Similarity,
        "texts": pairs,
        "layers_without_signal": found.silent,
        "heads": by_gradient(found).into_iter().map(one).collect::<Vec<_>>(),
    });
    Ok(serde_json::to_string_pretty(&table)? + "\n")
}

fn gradient_csv(found: &Sensitivity) -> String {
    let mut table = "head,layer,index,importance,gradient\n".to_owned();
    for (head, raw, scaled) in by_gradient(found) {
        table.push_str(&format!("{head},{},{},{scaled},{raw}\n", head.layer, head.head));
    }
    table
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
