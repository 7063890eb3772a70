//! What a right-click on a picture copies: the picture, a row of its numbers, or the command that makes it.

use egui::Ui;

use super::action::Action;
use super::lang::tr;
use crate::figure::unit_label;
use crate::metrics::{Frame, Unit, read_view};
use crate::run::{ColorMap, ColorScale, MapRange, Reading, Run, RunError, ViewSpec};

/// What to copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copied {
    Picture,
    /// The weights of one query, counted from 0.
    Row(usize),
    Command,
}

impl Copied {
    fn label(self) -> &'static str {
        match self {
            Self::Picture => tr!("Copy picture"),
            Self::Row(_) => tr!("Copy row as TSV"),
            Self::Command => tr!("Copy command"),
        }
    }
}

/// Entries of a picture's context menu.
pub fn menu(ui: &mut Ui, view: &ViewSpec, entries: &[Copied], actions: &mut Vec<Action>) {
    for &entry in entries {
        if ui.button(entry.label()).clicked() {
            actions.push(Action::Copy(view.clone(), entry));
            ui.close();
        }
    }
}

/// Two lines: the keys, and the weights that one query gives them; the query stands first in the second line.
pub fn row_as_tsv(run: &Run, view: &ViewSpec, query: usize) -> Result<String, RunError> {
    let frame = Frame::of(&run.input, view.reading);
    let map = read_view(&run.attention, &frame, view)?;
    // A tab or a line break inside a piece would shift the columns. One piece stands as the vocabulary spells it.
    let name = |unit: &Unit| {
        let name = match &run.input.tokens[unit.clone()] {
            [token] => token.piece.clone(),
            _ => unit_label(&run.input, unit),
        };
        name.replace(['\t', '\n', '\r'], " ")
    };
    let keys: Vec<String> = frame.columns.iter().map(name).collect();
    let query = query.min(map.nrows().saturating_sub(1));
    let Some(row) = frame.rows.get(query) else { return Ok("query\n".to_owned()) };
    // What is no number is an empty cell, as spreadsheets have it.
    let digits = |weight: &f32| if weight.is_finite() { weight.to_string() } else { String::new() };
    let weights: Vec<String> = map.row(query).iter().map(digits).collect();
    Ok(format!("query\t{}\n{}\t{}\n", keys.join("\t"), name(row), weights.join("\t")))
}

/// The command line that draws this picture.
pub fn command(run: &Run, view: &ViewSpec) -> String {
    let mut words = vec!["headlight".to_owned(), "heatmap".to_owned()];
    let mut option = |name: &str, value: &str| words.extend([format!("--{name}"), quoted(value)]);
    option("model", &run.model.folder.display().to_string());
    option("text", &run.input.texts.a);
    if let Some(b) = &run.input.texts.b {
        option("text-b", b);
    }
    for masked in &run.input.masked {
        option("mask", &masked.token.to_string());
    }
    for edit in &run.edits {
        option("edit", &edit.to_string());
    }
    match &view.pooled {
        Some(pooled) => option("pool", &pooled.to_string()),
        None => option("head", &view.head.to_string()),
    }
    let reading = view.reading;
    let plain = Reading::default();
    if reading.units != plain.units {
        option("units", reading.units.word());
    }
    if reading.specials != plain.specials {
        option("special", reading.specials.word());
    }
    if reading.segments != plain.segments {
        option("segments", reading.segments.word());
    }
    if view.scale != ColorScale::default() {
        option("scale", view.scale.word());
    }
    if view.colors != ColorMap::default() {
        option("colors", view.colors.name());
    }
    if view.range != MapRange::Head {
        option("range", &view.range.to_string());
    }
    if let Some(crop) = view.crop {
        option("queries", &crop.queries.to_string());
        option("keys", &crop.keys.to_string());
    }
    option("out", &view.file_name());
    words.join(" ")
}

/// A word that a POSIX shell reads as it is.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_back_what_was_quoted() {
        for word in ["plain", "two words", "it didn't", "$HOME `x` \\", "", "你好", "a\nb", "--text", "'"] {
            let output = std::process::Command::new("sh").args(["-c", &format!("printf %s {}", quoted(word))]).output();
            let Ok(output) = output else { return }; // no POSIX shell on this system
            assert_eq!(String::from_utf8(output.stdout).unwrap(), word);
        }
    }
}
