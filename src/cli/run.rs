use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::input::{InputArgs, ModelArgs};
use super::{note, output};
use crate::run::run_bytes;

#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    input: InputArgs,
    /// The safetensors file to write; - is standard output.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

pub fn perform(args: &RunArgs) -> Result<()> {
    let model = args.input.open(&args.model)?;
    let mut run = args.input.run(&model)?;
    if let Some(notice) = model.info().report.headless_notice() {
        note(&notice);
    }
    model.answer_everywhere(&mut run)?;
    output::write(&args.out, run_bytes(&run)?)?;
    let (layers, heads, tokens) = (run.attention.layers(), run.attention.heads(), run.attention.tokens());
    output::tell(&args.out, &format!("{layers} layers, {heads} heads, {tokens} tokens"))
}
