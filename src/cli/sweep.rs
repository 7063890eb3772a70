use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use serde_json::json;

use super::input::ModelArgs;
use super::texts::TextsArgs;
use super::{complain, output, print, progress};
use crate::figure::{CurvesFigure, Line};
use crate::lab::{Curve, PruningCurve, PruningCurveOutcome};
use crate::run::cell;

#[derive(Debug, Args)]
pub struct SweepArgs {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    texts: TextsArgs,
    /// The curve to write; its ending says what kind: .png, .svg, .json or .csv. May be given several times; - is
    /// standard output.
    #[arg(long, value_name = "FILE", required = true)]
    out: Vec<PathBuf>,
    /// The kind of file, where a name does not say it.
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Say how many heads can go while the target stays within so many percent of its plain value.
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = percent)]
    stop: f32,
    /// The random order's seed.
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    seed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Png,
    Svg,
    Json,
    Csv,
}

fn percent(text: &str) -> Result<f32, String> {
    let number = text.parse().ok().filter(|number: &f32| (0.0..=100.0).contains(number));
    number.ok_or_else(|| format!("“{text}” is no number from 0 to 100"))
}

pub fn perform(args: &SweepArgs) -> Result<()> {
    // A name with an ending of its own says what it is, whatever the others are.
    let format = |path: &PathBuf| output::kind(path, None).or_else(|_| output::kind(path, args.format));
    let outs: Vec<(&PathBuf, Format)> = args.out.iter().map(|path| Ok((path, format(path)?))).collect::<Result<_>>()?;
    let standard = args.out.iter().filter(|path| output::takes_standard_output(path)).count();
    if standard > 1 {
        bail!("standard output takes one file, and {standard} were to go there");
    }
    let model = args.model.open()?;
    let (examples, target) = (Arc::new(args.texts.read(&model)?), args.texts.target.clone());
    let mut experiment = PruningCurve { examples, target, seed: args.seed };
    let outcome: PruningCurveOutcome = progress::run(&mut experiment, &model)?;
    let spared = outcome.spared(args.stop / 100.0).len();
    for (path, format) in outs {
        let bytes = match format {
            Format::Json => as_json(&outcome, &model.info().name, args, spared)?.into_bytes(),
            Format::Csv => as_csv(&outcome.sweep.curves).into_bytes(),
            Format::Svg => figure(&outcome, &model.info().name, args.stop).draw()?.as_str().as_bytes().to_vec(),
            Format::Png => figure(&outcome, &model.info().name, args.stop).draw()?.to_png(2.0)?.bytes,
        };
        output::write(path, bytes)?;
    }
    let total = outcome.importance.effect.len();
    let said = format!(
        "{spared} of {total} heads can go, least important first, while the target stays within {} %",
        args.stop
    );
    if standard > 0 {
        complain(&said);
        return Ok(());
    }
    print(&format!("{said}\n"))
}

fn as_json(outcome: &PruningCurveOutcome, model: &str, args: &SweepArgs, spared: usize) -> Result<String> {
    let table = json!({
        "model": model,
        "target": outcome.spec.target,
        "texts": outcome.spec.examples.len(),
        "seed": args.seed,
        "stop_percent": args.stop,
        "heads_within": spared,
        "orders": outcome.sweep.spec.orders,
        "curves": outcome.sweep.curves,
    });
    Ok(serde_json::to_string_pretty(&table)? + "\n")
}

fn as_csv(curves: &[Curve]) -> String {
    let names: Vec<&str> = curves.iter().map(|curve| curve.name.as_str()).collect();
    let mut table = format!("heads_off,{}\n", names.join(","));
    for off in 0..curves.first().map_or(0, |curve| curve.values.len()) {
        let values: Vec<String> = curves.iter().map(|curve| cell(curve.values[off])).collect();
        table.push_str(&format!("{off},{}\n", values.join(",")));
    }
    table
}

/// The curves as a figure, with the stop rule of so many percent.
fn figure(outcome: &PruningCurveOutcome, model: &str, stop: f32) -> CurvesFigure {
    let line = |curve: &Curve| Line { name: curve.name.clone(), values: curve.values.clone() };
    let lines = outcome.sweep.curves.iter().map(line).collect();
    let spared = outcome.spared(stop / 100.0).len();
    CurvesFigure::pruning(model, outcome.spec.target.describe(), outcome.spec.examples.len(), lines, (spared, stop))
}
