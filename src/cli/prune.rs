use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;

use super::input::ModelArgs;
use super::{note, output, print, progress};
use crate::lab::{Prune, PruneOutcome};
use crate::model::PrunedShape;
use crate::run::HeadPattern;

#[derive(Debug, Args)]
pub struct PruneArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// The heads to remove, with commas between: 0.1,3.4; 3.* is a whole layer, *.4 a column.
    #[arg(long, value_name = "HEADS", value_delimiter = ',', required = true, allow_hyphen_values = true)]
    heads: Vec<HeadPattern>,
    /// The folder to write. It must not be there yet.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Keep the weights' full size and set the heads' columns of W_O to 0, which every version of transformers reads.
    /// Without this the heads' rows and columns are removed, which transformers 5 no longer reads.
    #[arg(long)]
    same_shape: bool,
}

pub fn perform(args: &PruneArgs) -> Result<()> {
    let shape = if args.same_shape { PrunedShape::Same } else { PrunedShape::Compact };
    output::folder(&args.out)?;
    crate::model::can_prune(&args.model.folder()?)?;
    let model = args.model.open()?;
    let (layers, heads) = (model.info().layers, model.info().heads);
    let mut chosen = BTreeSet::new();
    for pattern in &args.heads {
        chosen.extend(pattern.among(layers, heads)?);
    }
    if chosen.is_empty() {
        bail!("there is no head to remove");
    }
    let count = chosen.len();
    let outcome: PruneOutcome = progress::run(&mut Prune { heads: chosen, shape, out: args.out.clone() }, &model)?;
    print(&format!(
        "{}: without {count} of {} heads\n{}\n",
        args.out.display(),
        layers * heads,
        outcome.report().join("\n")
    ))?;
    if shape == PrunedShape::Compact {
        note("transformers 5 does not read folders with pruned_heads; --same-shape writes one that it does");
    }
    Ok(())
}
