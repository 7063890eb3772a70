use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;

use super::input::ModelArgs;
use super::rank::ranked;
use super::texts::TextsArgs;
use super::{print, progress};
use crate::figure::{CurvesFigure, Line};
use crate::lab::{Curve, Importance, LeaveOneOut, Order, Sweep, SweepOutcome, Target};
use crate::run::{HeadId, write_bytes};

#[derive(Debug, Args)]
pub struct SweepArgs {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    texts: TextsArgs,
    /// The curve to write; its ending says what kind: .png, .svg, .json or .csv. May be given several times.
    #[arg(long, value_name = "FILE", required = true)]
    out: Vec<PathBuf>,
    /// Say how many heads can go while the target stays within so many percent of its plain value.
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = percent)]
    stop: f32,
    /// The random order's seed.
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    seed: u64,
}

const WORST: &str = "least important first";
const KINDS: [&str; 4] = ["png", "svg", "json", "csv"];

fn percent(text: &str) -> Result<f32, String> {
    let number = text.parse().ok().filter(|number: &f32| (0.0..=100.0).contains(number));
    number.ok_or_else(|| format!("“{text}” is no number from 0 to 100"))
}

pub fn perform(args: &SweepArgs) -> Result<()> {
    for path in &args.out {
        if !KINDS.contains(&kind(path).as_str()) {
            bail!("{} has no ending that says what to write: end it with .png, .svg, .json or .csv", path.display());
        }
    }
    let (texts, target) = (Arc::new(args.texts.read()?), args.texts.target());
    let model = args.model.open()?;
    let importance: Importance = progress::run(&mut LeaveOneOut { texts: texts.clone(), target }, &model)?;
    let mut sweep = Sweep { texts, target, orders: orders(&importance, args.seed) };
    let outcome: SweepOutcome = progress::run(&mut sweep, &model)?;
    let worst = outcome.curves.iter().find(|curve| curve.name == WORST);
    let spared = worst.map_or(0, |curve| curve.heads_within(args.stop / 100.0));
    for path in &args.out {
        let bytes = match kind(path).as_str() {
            "json" => as_json(&outcome, &model.info().name, args, spared)?.into_bytes(),
            "csv" => as_csv(&outcome.curves).into_bytes(),
            "svg" => figure(&outcome, &model.info().name, args.stop, spared).draw()?.as_str().as_bytes().to_vec(),
            _ => figure(&outcome, &model.info().name, args.stop, spared).draw()?.to_png(2.0)?.bytes,
        };
        write_bytes(path, bytes)?;
    }
    let total = importance.effect.len();
    print(&format!(
        "{spared} of {total} heads can go, least important first, while the target stays within {} %\n",
        args.stop
    ));
    Ok(())
}

fn kind(path: &std::path::Path) -> String {
    path.extension().unwrap_or_default().to_string_lossy().to_lowercase()
}

/// Least important first, most important first, and at random. A head is as important as its effect is large, whatever
/// its sign.
fn orders(importance: &Importance, seed: u64) -> Vec<Order> {
    let mut heads: Vec<(HeadId, f32)> =
        ranked(importance).into_iter().map(|(head, effect, _)| (head, effect.abs())).collect();
    heads.sort_by(|a, b| a.1.total_cmp(&b.1));
    let worst: Vec<HeadId> = heads.into_iter().map(|(head, _)| head).collect();
    let best: Vec<HeadId> = worst.iter().rev().copied().collect();
    let mut random = worst.clone();
    fastrand::Rng::with_seed(seed).shuffle(&mut random);
    let order = |name: &str, heads| Order { name: name.to_owned(), heads };
    vec![order(WORST, worst), order("at random", random), order("most important first", best)]
}

fn figure(outcome: &SweepOutcome, model: &str, stop: f32, spared: usize) -> CurvesFigure {
    let target = match outcome.spec.target {
        Target::Own => "cosine with the plain vector",
        Target::Similarity => "similarity of the pair",
    };
    let line = |curve: &Curve| Line { name: curve.name.clone(), values: curve.values.clone() };
    CurvesFigure {
        title: format!("{model}: heads switched off, mean over {} texts", outcome.spec.texts.len()),
        across: "Heads switched off".to_owned(),
        upwards: target.to_owned(),
        lines: outcome.curves.iter().map(line).collect(),
        mark: Some((spared, format!("{spared} heads: within {stop} % of the plain model"))),
    }
}

fn as_json(outcome: &SweepOutcome, model: &str, args: &SweepArgs, spared: usize) -> Result<String> {
    let table = json!({
        "model": model,
        "target": outcome.spec.target,
        "texts": outcome.spec.texts.len(),
        "seed": args.seed,
        "stop_percent": args.stop,
        "heads_within": spared,
        "orders": outcome.spec.orders,
        "curves": outcome.curves,
    });
    Ok(serde_json::to_string_pretty(&table)? + "\n")
}

fn as_csv(curves: &[Curve]) -> String {
    let names: Vec<&str> = curves.iter().map(|curve| curve.name.as_str()).collect();
    let mut table = format!("heads_off,{}\n", names.join(","));
    for off in 0..curves.first().map_or(0, |curve| curve.values.len()) {
        let values: Vec<String> = curves.iter().map(|curve| curve.values[off].to_string()).collect();
        table.push_str(&format!("{off},{}\n", values.join(",")));
    }
    table
}
