use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use clap::{Args, ValueEnum};
use serde_json::json;

use super::input::ModelArgs;
use super::texts::TextsArgs;
use super::{note, output, progress};
use crate::lab::{GradientImportance, Importance, LeaveOneOut, Sensitivity};
use crate::run::{HeadId, cell};

#[derive(Debug, Args)]
pub struct RankArgs {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    texts: TextsArgs,
    /// How a head's importance is found: loo switches each head off by itself, gradient takes how sensitive the target
    /// is to each head (Michel et al. 2019).
    #[arg(long, value_enum, default_value = "loo")]
    by: By,
    /// The table to write, most important head first; its ending says what kind: .json or .csv. - is standard output.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// The kind of table, where the name does not say it.
    #[arg(long, value_enum)]
    format: Option<Format>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    Loo,
    Gradient,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Json,
    Csv,
}

pub fn perform(args: &RankArgs) -> Result<()> {
    let json = output::kind(&args.out, args.format)? == Format::Json;
    let target = args.texts.target.clone();
    let model = args.model.open()?;
    let examples = Arc::new(args.texts.read(&model)?);
    let name = &model.info().name;
    let (table, (best, effect)) = match args.by {
        By::Loo => {
            let mut experiment = LeaveOneOut { examples, target };
            let importance: Importance = progress::run(&mut experiment, &model)?;
            let table = if json { as_json(&importance, name)? } else { as_csv(&importance) };
            (table, importance.ranked().first().map_or_else(Default::default, |(head, effect, _)| (*head, *effect)))
        }
        By::Gradient => {
            let found: Sensitivity = progress::run(&mut GradientImportance { examples, target }, &model)?;
            for layer in &found.silent {
                note(&format!("layer {layer} has no signal, and its heads are left at 0"));
            }
            let table = if json { gradient_json(&found, name)? } else { gradient_csv(&found) };
            (table, found.ranked().first().map_or_else(Default::default, |(head, _, scaled)| (*head, *scaled)))
        }
    };
    output::write(&args.out, table)?;
    let heads = model.info().layers * model.info().heads;
    output::tell(&args.out, &format!("{heads} heads, most important {best} ({effect:+.4})"))
}

fn gradient_json(found: &Sensitivity, model: &str) -> Result<String> {
    let one = |(head, raw, scaled): (HeadId, f32, f32)| json!({"head": head, "importance": scaled, "gradient": raw});
    let table = json!({
        "model": model,
        "by": "gradient",
        "target": found.spec.target,
        "texts": found.spec.examples.len(),
        "layers_without_signal": found.silent,
        "heads": found.ranked().into_iter().map(one).collect::<Vec<_>>(),
    });
    Ok(serde_json::to_string_pretty(&table)? + "\n")
}

fn gradient_csv(found: &Sensitivity) -> String {
    let mut table = "head,layer,index,importance,gradient\n".to_owned();
    for (head, raw, scaled) in found.ranked() {
        table.push_str(&format!("{head},{},{},{},{}\n", head.layer, head.head, cell(scaled), cell(raw)));
    }
    table
}

fn as_json(importance: &Importance, model: &str) -> Result<String> {
    let heads: Vec<_> = importance
        .ranked()
        .into_iter()
        .map(|(head, effect, half)| match half {
            Some(half) => json!({"head": head, "effect": effect, "low": effect - half, "high": effect + half}),
            None => json!({"head": head, "effect": effect}),
        })
        .collect();
    let random = importance.random_head();
    let table = json!({
        "model": model,
        "by": "loo",
        "target": importance.spec.target,
        "texts": importance.spec.examples.len(),
        "plain": importance.plain,
        "random_head": {"mean": random.0, "deviation": random.1},
        "heads": heads,
    });
    Ok(serde_json::to_string_pretty(&table)? + "\n")
}

fn as_csv(importance: &Importance) -> String {
    let mut table = "head,layer,index,effect,low,high\n".to_owned();
    for (head, effect, half) in importance.ranked() {
        let ends = half.map_or(",".to_owned(), |half| format!("{},{}", cell(effect - half), cell(effect + half)));
        table.push_str(&format!("{head},{},{},{},{ends}\n", head.layer, head.head, cell(effect)));
    }
    table
}
