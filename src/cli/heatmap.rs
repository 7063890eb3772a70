use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use rayon::prelude::*;

use super::input::{InputArgs, ModelArgs};
use super::print;
use crate::figure::{FileKind, HeatmapFigure};
use crate::run::{ColorMap, Crop, HeadId, MapRange, Run, TokenRange, ViewSpec};

#[derive(Debug, Args)]
pub struct HeatmapArgs {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    input: InputArgs,
    /// The head to draw, written layer.head, both counted from 0.
    #[arg(long, value_name = "LAYER.HEAD", required_unless_present = "all", requires = "out")]
    head: Option<HeadId>,
    /// The picture to write; its ending says what kind: .png or .svg.
    #[arg(long, value_name = "FILE", conflicts_with = "all")]
    out: Option<PathBuf>,
    /// Draw every head.
    #[arg(long, conflicts_with = "head", requires = "out_dir")]
    all: bool,
    /// The folder for the pictures of all heads, named layer3-head04.png.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["head", "out"])]
    out_dir: Option<PathBuf>,
    /// YlGnBu, viridis, magma, cividis or greys.
    #[arg(long, value_name = "MAP", default_value = "YlGnBu")]
    colors: ColorMap,
    /// What the colours' upper end stands for: the head's own largest weight, that of all heads, or 1.
    #[arg(long, value_enum, default_value = "head")]
    range: RangeArg,
    /// Draw only these queries (rows): first..end, counted from 0.
    #[arg(long, value_name = "FIRST..END")]
    queries: Option<TokenRange>,
    /// Draw only these keys (columns): first..end, counted from 0.
    #[arg(long, value_name = "FIRST..END")]
    keys: Option<TokenRange>,
    /// Pixels an inch; the picture is 10 × 8 inches.
    #[arg(long, value_name = "DPI", default_value = "200", value_parser = clap::value_parser!(u16).range(20..=1200))]
    dpi: u16,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum RangeArg {
    Head,
    All,
    Unit,
}

impl From<RangeArg> for MapRange {
    fn from(range: RangeArg) -> Self {
        match range {
            RangeArg::Head => Self::Head,
            RangeArg::All => Self::All,
            RangeArg::Unit => Self::Unit,
        }
    }
}

pub fn perform(args: &HeatmapArgs) -> Result<()> {
    // Before the model is loaded for nothing.
    let kind = args.out.as_deref().map(FileKind::of).transpose()?;
    let model = args.input.open(&args.model)?;
    let (layers, heads) = (model.info().layers, model.info().heads);
    if let Some(head) = args.head {
        head.within(layers, heads)?;
    }
    let run = args.input.run(&model)?;
    let all = TokenRange { start: 0, end: run.attention.tokens() };
    let crop = (args.queries.is_some() || args.keys.is_some())
        .then(|| Crop { queries: args.queries.unwrap_or(all), keys: args.keys.unwrap_or(all) });
    let view = |head| ViewSpec { head, colors: args.colors, range: args.range.into(), crop };
    match (args.head, args.out.as_deref().zip(kind), &args.out_dir) {
        (Some(head), Some((out, kind)), _) => {
            draw(&run, &view(head), out, kind, args.dpi)?;
            print(&format!("{}\n", out.display()));
        }
        (_, _, Some(folder)) => {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
            let all: Vec<HeadId> = HeadId::all(layers, heads).collect();
            all.par_iter().try_for_each(|&head| {
                let view = view(head);
                draw(&run, &view, &folder.join(view.file_name()), FileKind::Png, args.dpi)
            })?;
            print(&format!("{}: {} pictures\n", folder.display(), all.len()));
        }
        _ => bail!("name a head and a file (--head 3.4 --out FILE.png), or all of them (--all --out-dir DIR)"),
    }
    Ok(())
}

fn draw(run: &Run, view: &ViewSpec, path: &Path, kind: FileKind, dpi: u16) -> Result<()> {
    Ok(HeatmapFigure::new(run, view).draw()?.write(path, kind, f32::from(dpi) / 100.0)?)
}
