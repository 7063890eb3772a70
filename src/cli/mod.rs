//! The command line. Results go to files or standard output, everything else to standard error, one line each.
//! Exit codes: 0, 1 for a failure, 2 for wrong usage, 141 if what reads standard output has gone.

mod encoded;
mod heatmap;
mod input;
mod models;
mod output;
mod progress;
mod prune;
mod rank;
mod run;
mod sweep;
mod texts;
mod window;

use std::panic::catch_unwind;
use std::process::ExitCode;

use anyhow::Result;
use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

use crate::run::{RunError, one_line};
use output::{complain, print};

/// See what every attention head of a BERT looks at.
///
/// Without a sub-command the window opens. Layers and heads count from 0, as in Hugging Face; a head is written
/// layer.head, as in 3.4.
#[derive(Debug, Parser)]
#[command(name = "headlight", version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(flatten)]
    window: window::WindowArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a text through the model and write attention, hidden state and embedding as safetensors.
    Run(run::RunArgs),
    /// Draw the attention of one head, or of all heads, as PNG or SVG.
    Heatmap(heatmap::HeatmapArgs),
    /// Rank heads by what the output loses without each of them.
    Rank(rank::RankArgs),
    /// Draw how the output changes as more and more heads are switched off.
    Sweep(sweep::SweepArgs),
    /// Remove heads for good: write a model folder without them.
    Prune(prune::PruneArgs),
    /// List the models that are found, or describe one.
    Models(models::ModelsArgs),
}

/// The program.
pub fn main() -> ExitCode {
    // One line for a fault of ours too; RUST_BACKTRACE is for those who run it under a debugger.
    std::panic::set_hook(Box::new(|panic| {
        let cause = panic.to_string();
        complain(&format!("internal fault: {}", cause.split_whitespace().collect::<Vec<_>>().join(" ")));
    }));
    let filter = tracing_subscriber::EnvFilter::try_from_env("HEADLIGHT_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("off"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();

    let words = match encoded::decoded(std::env::args_os()) {
        Ok(words) => words,
        Err(cause) => {
            complain(&cause);
            return ExitCode::from(2);
        }
    };
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    match catch_unwind(|| perform(cli)) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => failure(&error),
        Err(_) => ExitCode::FAILURE, // the hook has spoken
    }
}

fn perform(cli: Cli) -> Result<()> {
    match cli.command {
        None => window::open(cli.window),
        Some(Command::Run(args)) => run::perform(&args),
        Some(Command::Heatmap(args)) => heatmap::perform(&args),
        Some(Command::Rank(args)) => rank::perform(&args),
        Some(Command::Sweep(args)) => sweep::perform(&args),
        Some(Command::Prune(args)) => prune::perform(&args),
        Some(Command::Models(args)) => models::perform(&args),
    }
}

/// Help and version as they are; a wrong use as one line.
fn usage(error: &clap::Error) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return print(&error.to_string()).map_or_else(|error| failure(&error), |()| ExitCode::SUCCESS);
    }
    let text = error.to_string();
    // clap's first paragraph has the cause; its usage and tips follow.
    let cause: Vec<&str> = text.split("\n\n").next().unwrap_or_default().split_whitespace().collect();
    let cause = cause.join(" ");
    let cause = cause.strip_prefix("error: ").unwrap_or(&cause);
    complain(&format!("{cause} (see `headlight --help`)"));
    ExitCode::from(2)
}

/// One line, but for a pipe that was closed: whoever closed it, as `head` does, has what it wanted.
fn failure(error: &anyhow::Error) -> ExitCode {
    if error.chain().any(|cause| matches!(cause.downcast_ref(), Some(RunError::ReaderGone(_)))) {
        // As shells tell of a program that SIGPIPE ended.
        return ExitCode::from(141);
    }
    complain(&one_line(error.as_ref()));
    ExitCode::FAILURE
}

/// Tells the reader something that is no result.
fn note(text: &str) {
    complain(&format!("note: {text}"));
}
