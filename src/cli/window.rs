use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};

use super::input::read_session;
use crate::gui::{self, Opening};
use crate::model::{find_model, list_models};
use crate::run::{Texts, one_line};

#[derive(Debug, Args)]
pub struct WindowArgs {
    /// Open the window with this sentence.
    #[arg(long, value_name = "SENTENCE", allow_hyphen_values = true)]
    text: Option<String>,
    /// Open the window with this second sentence, which makes a pair.
    #[arg(long, value_name = "SENTENCE", requires = "text", allow_hyphen_values = true)]
    text_b: Option<String>,
    /// Go on with a session that was saved in the window; - is standard input.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["text", "model"])]
    session: Option<PathBuf>,
    /// A model's folder, or the name of one that `headlight models` lists.
    #[arg(long, value_name = "DIR", allow_hyphen_values = true)]
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

pub fn open(args: WindowArgs) -> Result<()> {
    let texts = Texts { a: args.text.unwrap_or_default(), b: args.text_b };
    // A model that is not there is told in the window, beside what to do about it.
    let model = find_model(args.model.as_deref()).map_err(|error| one_line(&error));
    let theme = args.theme.map(|theme| match theme {
        Theme::Light => gui::Theme::Light,
        Theme::Dark => gui::Theme::Dark,
    });
    let session = args.session.as_deref().map(read_session).transpose()?;
    Ok(gui::open(Opening { texts, model, models: list_models(), session }, theme)?)
}
