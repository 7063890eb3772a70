use anyhow::Result;
use clap::{Args, Subcommand};

use super::input::ModelArgs;
use super::{note, print, progress};
use crate::engine::Progress;
use crate::hub::{Fetch, hides_progress};
use crate::model::{Config, list_models, model_folders};
use crate::run::{LoadReport, TaskInfo};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ModelsArgs {
    #[command(flatten)]
    model: ModelArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Fetch a model from the Hugging Face hub, or from the mirror in HF_ENDPOINT, into its cache.
    Get {
        /// OWNER/NAME, or NAME alone, as in bert-base-uncased.
        name: String,
        /// A branch, tag or commit.
        #[arg(long, value_name = "REVISION", allow_hyphen_values = true)]
        revision: Option<String>,
    },
}

fn get(name: &str, revision: Option<String>) -> Result<()> {
    let fetch = Fetch { model: name.to_owned(), revision, ..Fetch::default() };
    let folder = progress::show(|update| {
        fetch.run(&mut |fetched| {
            if hides_progress() {
                return true;
            }
            // In kilobytes: a terminal has no room for more digits.
            update(Progress::new((fetched.bytes / 1000) as usize, (fetched.of / 1000) as usize));
            true
        })
    })?;
    print(&format!("{name}: {}\n", folder.display()))?;
    Ok(())
}

pub fn perform(args: &ModelsArgs) -> Result<()> {
    if let Some(Command::Get { name, revision }) = &args.command {
        return get(name, revision.clone());
    }
    if args.model.model.is_some() { describe(&args.model) } else { list() }
}

fn list() -> Result<()> {
    let models = list_models();
    let mut text = String::new();
    for (name, folder) in &models {
        let shape = match Config::from_folder(folder) {
            Ok(config) => format!("{}, {} layers × {} heads", config.family, config.layers, config.heads),
            Err(error) => format!("cannot be opened: {error}"),
        };
        text.push_str(&format!("{name}\t{shape}\t{}\n", folder.display()));
    }
    print(&text)?;
    if models.is_empty() {
        let folders: Vec<_> = model_folders().iter().map(|folder| folder.display().to_string()).collect();
        note(&format!("no model lies in {}; `cargo xtask setup` fetches the default one", folders.join(" or ")));
    }
    Ok(())
}

fn describe(model: &ModelArgs) -> Result<()> {
    let model = model.open()?;
    let info = model.info();
    let config = model.encoder().config();
    let known = |there| if there { "yes" } else { "no" };
    print(&format!(
        "name\t{}\nfolder\t{}\nfamily\t{}\nlayers\t{} (0 to {})\nheads\t{} a layer (0 to {}), each {} wide\n\
         hidden size\t{}\nfeed-forward\t{} ({:?})\npositions\t{}\ntoken types\t{}\nvocabulary\t{}\nparameters\t{}\n\
         tokenizer\t{}\npooler\t{}\nembedding\t{}\n",
        info.name,
        info.folder.display(),
        info.family,
        info.layers,
        info.layers - 1,
        info.heads,
        info.heads - 1,
        info.head_dim,
        info.hidden,
        config.intermediate,
        config.activation,
        info.positions,
        config.types,
        info.vocabulary,
        info.parameters,
        known(info.has_tokenizer),
        known(info.has_pooler),
        info.pooling.describe(),
    ))?;
    if info.tasks.is_empty() {
        print("task\tnone\n")?;
    }
    for TaskInfo { task, labels, .. } in &info.tasks {
        let labels = if labels.is_empty() { String::new() } else { format!(": {}", labels.join(", ")) };
        print(&format!("task\t{}{labels}\n", task.name()))?;
    }
    if let Some(note) = &info.note {
        print(&format!("note\t{note}\n"))?;
    }
    let LoadReport { files, renamed, unused, not_finite } = &info.report;
    print(&format!("files\t{}\n", files.join(" ")))?;
    for (asked, found) in renamed {
        print(&format!("renamed\t{found}\tread as {asked}\n"))?;
    }
    for name in unused {
        print(&format!("unused\t{name}\n"))?;
    }
    for name in not_finite {
        print(&format!("not finite\t{name}\tit holds numbers that are infinite or none\n"))?;
    }
    if !info.pruned.is_empty() {
        let heads: Vec<String> = info.pruned.iter().map(ToString::to_string).collect();
        print(&format!("pruned\t{}\n", heads.join(" ")))?;
    }
    Ok(())
}
