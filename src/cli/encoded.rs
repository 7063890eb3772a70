//! Command lines whose words are percent-encoded, so that every shell hands them on as they are.

use std::ffi::OsString;

use anyhow::{Result, bail};
use clap::Args;
use percent_encoding::percent_decode_str;

/// Says that the words that follow are percent-encoded. It stands right behind the sub-command: anywhere else it may be a
/// text.
const OPTION: &str = "--percent-encoded";

#[derive(Debug, Args)]
pub struct EncodedArgs {
    /// The words that follow are percent-encoded (%27 for an apostrophe), which every shell hands on alike. It stands
    /// right behind the sub-command; the window writes it where a text needs it.
    #[arg(long)]
    percent_encoded: bool,
}

impl EncodedArgs {
    pub fn check(&self) -> Result<()> {
        if self.percent_encoded {
            bail!("{OPTION} stands right behind the sub-command, as in `headlight heatmap {OPTION} --text it%27s`");
        }
        Ok(())
    }
}

/// The words as they are meant.
///
/// # Errors
/// A word that is no text once it is decoded.
pub fn decoded(words: impl Iterator<Item = OsString>) -> Result<Vec<OsString>, String> {
    let mut words: Vec<OsString> = words.collect();
    if words.get(2).is_none_or(|word| word != OPTION) {
        return Ok(words);
    }
    words.remove(2);
    let decode = |word: OsString| {
        let text = word.to_str().and_then(|text| Some(percent_decode_str(text).decode_utf8().ok()?.into_owned()));
        text.map(OsString::from).ok_or_else(|| format!("“{}” is no percent-encoded text", word.display()))
    };
    let rest = words.split_off(2);
    words.extend(rest.into_iter().map(decode).collect::<Result<Vec<_>, _>>()?);
    Ok(words)
}
