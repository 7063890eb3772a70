use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub struct WindowArgs {
    /// Open the window with this sentence.
    #[arg(long, value_name = "SENTENCE")]
    text: Option<String>,
    /// Open the window with this second sentence, which makes a pair.
    #[arg(long, value_name = "SENTENCE", requires = "text")]
    text_b: Option<String>,
    /// A model's folder, or the name of one that `headlight models` lists.
    #[arg(long, value_name = "DIR")]
    model: Option<PathBuf>,
    /// Light or dark; otherwise as the system is.
    #[arg(long, value_enum)]
    theme: Option<Theme>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Theme {
    Light,
    Dark,
}

pub fn open(_args: WindowArgs) -> Result<()> {
    Ok(())
}
