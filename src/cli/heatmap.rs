use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use rayon::prelude::*;

use super::input::{InputArgs, ModelArgs};
use super::{output, print};
use crate::figure::HeatmapFigure;
use crate::metrics::Frame;
use crate::run::{
    ColorMap, ColorScale, Crop, HeadId, MapRange, Pooled, Reading, Run, Segments, Specials, TokenRange, Units,
    ViewSpec, end_of_links, write_bytes,
};

#[derive(Debug, Args)]
pub struct HeatmapArgs {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    input: InputArgs,
    /// The head to draw, written layer.head, both counted from 0.
    #[arg(long, value_name = "LAYER.HEAD", required_unless_present_any = ["all", "pool"], requires = "out", allow_hyphen_values = true)]
    head: Option<HeadId>,
    /// Draw several heads as one, their mean or the greatest of their weights: mean:0.1,3.4 or max:0.1,3.4.
    #[arg(long, value_name = "POOLED", conflicts_with_all = ["head", "all"], requires = "out", allow_hyphen_values = true)]
    pool: Option<Pooled>,
    /// The picture to write; its ending says what kind: .png or .svg. - is standard output.
    #[arg(long, value_name = "FILE", conflicts_with = "all")]
    out: Option<PathBuf>,
    /// The kind of picture, where the name does not say it.
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Draw every head.
    #[arg(long, conflicts_with = "head", requires = "out_dir")]
    all: bool,
    /// The folder for the pictures of all heads, named layer3-head04.png.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["head", "out"])]
    out_dir: Option<PathBuf>,
    /// YlGnBu, viridis, magma, cividis or greys.
    #[arg(long, value_name = "MAP", default_value = "YlGnBu", allow_hyphen_values = true)]
    colors: ColorMap,
    /// What the colours' upper end stands for: the largest weight of the head, its layer or all heads, 1 (unit), or a weight.
    #[arg(long, value_name = "head|layer|all|unit|WEIGHT", default_value = "head", allow_hyphen_values = true)]
    range: MapRange,
    /// How colours follow weights.
    #[arg(long, value_name = "linear|sqrt|log", default_value = "linear", allow_hyphen_values = true)]
    scale: ColorScale,
    /// Rows and columns are pieces, or words: weights to the pieces of a word add up, those from them are averaged.
    #[arg(long, value_name = "pieces|words", default_value = "pieces", allow_hyphen_values = true)]
    units: Units,
    /// Special tokens such as [CLS]: show them, hide them, or hide them and divide each row by what is left.
    #[arg(long, value_name = "show|hide|renormalise", default_value = "show", allow_hyphen_values = true)]
    special: Specials,
    /// Of a pair, only the queries of one text and the keys of one.
    #[arg(long, value_name = "all|a-to-a|a-to-b|b-to-a|b-to-b", default_value = "all", allow_hyphen_values = true)]
    segments: Segments,
    /// Draw only these queries (rows): first..end, counted from 0.
    #[arg(long, value_name = "FIRST..END", allow_hyphen_values = true)]
    queries: Option<TokenRange>,
    /// Draw only these keys (columns): first..end, counted from 0.
    #[arg(long, value_name = "FIRST..END", allow_hyphen_values = true)]
    keys: Option<TokenRange>,
    /// Pixels an inch; the picture is 10 × 8 inches.
    #[arg(long, value_name = "DPI", default_value = "200", value_parser = clap::value_parser!(u16).range(20..=1200))]
    dpi: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Png,
    Svg,
}

impl HeatmapArgs {
    fn reading(&self) -> Reading {
        Reading { units: self.units, specials: self.special, segments: self.segments }
    }
}

pub fn perform(args: &HeatmapArgs) -> Result<()> {
    // Before the model is loaded for nothing.
    let format = args.out.as_deref().map(|out| output::kind(out, args.format)).transpose()?;
    args.out_dir.as_deref().map(output::folder).transpose()?;
    let model = args.input.open(&args.model)?;
    let (layers, heads) = (model.info().layers, model.info().heads);
    let pooled = args.pool.iter().flat_map(|pooled| &pooled.heads);
    for head in args.head.iter().chain(pooled) {
        head.within(layers, heads)?;
    }
    let run = args.input.run(&model)?;
    let frame = Frame::of(&run.input, args.reading());
    let all = |end| TokenRange { start: 0, end };
    let crop = (args.queries.is_some() || args.keys.is_some()).then(|| Crop {
        queries: args.queries.unwrap_or(all(frame.rows.len())),
        keys: args.keys.unwrap_or(all(frame.columns.len())),
    });
    let view = |head| ViewSpec {
        head,
        pooled: args.pool.clone(),
        reading: args.reading(),
        colors: args.colors,
        scale: args.scale,
        range: args.range,
        crop,
    };
    let head = args.head.or_else(|| args.pool.as_ref()?.heads.first().copied());
    match (head, args.out.as_deref().zip(format), &args.out_dir) {
        (Some(head), Some((out, format)), _) => {
            output::write(out, draw(&run, &view(head), format, args.dpi)?)?;
            output::tell(out, "")?;
        }
        (_, _, Some(folder)) => {
            let folder = &end_of_links(folder)?;
            std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
            let (format, ending) = match args.format {
                Some(Format::Svg) => (Format::Svg, "svg"),
                _ => (Format::Png, "png"),
            };
            let all: Vec<HeadId> = HeadId::all(layers, heads).collect();
            all.par_iter().try_for_each(|&head| {
                let view = view(head);
                let file = folder.join(view.file_name()).with_extension(ending);
                anyhow::Ok(write_bytes(&file, draw(&run, &view, format, args.dpi)?)?)
            })?;
            print(&format!("{}: {} pictures\n", folder.display(), all.len()))?;
        }
        _ => bail!("name a head and a file (--head 3.4 --out FILE.png), or all of them (--all --out-dir DIR)"),
    }
    Ok(())
}

fn draw(run: &Run, view: &ViewSpec, format: Format, dpi: u16) -> Result<Vec<u8>> {
    let svg = HeatmapFigure::new(run, view).draw()?;
    Ok(match format {
        Format::Png => svg.to_png(f32::from(dpi) / 100.0)?.bytes,
        Format::Svg => svg.as_str().as_bytes().to_vec(),
    })
}
