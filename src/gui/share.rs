//! What a right-click on a picture copies: the picture, a row of its numbers, or the command that makes it.

use egui::Ui;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::action::Action;
use super::lang::tr;
use crate::figure::unit_label;
use crate::metrics::{Frame, Unit, read_view};
use crate::run::{ColorMap, ColorScale, MapRange, Reading, Run, RunError, ViewSpec, cell};

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
    let map = read_view(run, &frame, view)?;
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
    let weights: Vec<String> = map.row(query).iter().map(|weight| cell(*weight)).collect();
    Ok(format!("query\t{}\n{}\t{}\n", keys.join("\t"), name(row), weights.join("\t")))
}

/// The command line that draws this picture, for any shell.
pub fn command(run: &Run, view: &ViewSpec) -> String {
    let mut options = Vec::new();
    let mut option = |name: &str, value: &str| options.push((name.to_owned(), value.to_owned()));
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
    if view.range != MapRange::Head && !view.scale.is_relative() {
        option("range", &view.range.to_string());
    }
    if let Some(crop) = view.crop {
        option("queries", &crop.queries.to_string());
        option("keys", &crop.keys.to_string());
    }
    option("out", &view.file_name());
    command_line("heatmap", &options)
}

/// A command line that sh, bash, zsh, fish and PowerShell read alike. Where a value has a character that they do not quote
/// alike, values are percent-encoded.
fn command_line(command: &str, options: &[(String, String)]) -> String {
    let encode = options.iter().any(|(_, value)| value.chars().any(|c| TRICKY.contains(c) || c.is_control()));
    let mut line = format!("headlight {command}");
    if encode {
        line.push_str(" --percent-encoded");
    }
    for (name, value) in options {
        let value = if encode { encoded(value) } else { value.clone() };
        // Windows PowerShell drops empty words.
        match value.is_empty() {
            true => line.push_str(&format!(" --{name}=")),
            false => line.push_str(&format!(" --{name} {}", quoted(&value))),
        }
    }
    line
}

/// What single quotes do not keep alike in every shell: an apostrophe ends them, typographic ones do so in PowerShell, a
/// backslash escapes in fish, and Windows PowerShell loses double quotes on their way to a program.
const TRICKY: &str = "'\"\\\u{2018}\u{2019}\u{201a}\u{201b}";

/// Percent-encodes what is tricky, and the percent sign.
fn encoded(value: &str) -> String {
    let encode = |c: char| match TRICKY.contains(c) || c == '%' || c.is_control() {
        true => utf8_percent_encode(c.encode_utf8(&mut [0; 4]), NON_ALPHANUMERIC).to_string(),
        false => c.to_string(),
    };
    value.chars().map(encode).collect()
}

/// A word that shells read as it is. PowerShell takes 3.10 for a number, and a comma for a list.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:".contains(c);
    let begins = word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    if begins && word.chars().all(plain) { word.to_owned() } else { format!("'{word}'") }
}

#[cfg(test)]
mod tests {
    use percent_encoding::percent_decode_str;

    use super::*;

    /// Texts of characters that some shell takes for more than themselves.
    fn texts() -> impl Iterator<Item = String> {
        let seed = 21;
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let parts: Vec<char> =
            "-'\"`$!\\%^&|;<>()[]{}*?~#=,@: \t\n\r\0\u{1b}\u{7f}aZ0.你שم\u{202e}😀\u{301}‘’‚‛“”„\u{a0}"
                .chars()
                .collect();
        (0..400).map(move |_| {
            let length = random.usize(0..12);
            (0..length).map(|_| parts[random.usize(0..parts.len())]).collect()
        })
    }

    #[test]
    fn every_shell_reads_back_what_was_quoted() {
        let texts: Vec<String> =
            texts().chain(["$HOME", "!!", "-", "--text", "3.10", "a,b", ""].map(str::to_owned)).collect();
        for shell in ["sh", "bash", "zsh", "fish", "pwsh"] {
            // Each word on a line of its own; no word has a line break of its own left.
            let print = if shell == "pwsh" { "/usr/bin/env printf '%s\\n'" } else { "printf '%s\\n'" };
            let lines = texts.iter().map(|text| command_line("heatmap", &[("text".to_owned(), text.clone())]));
            let script: String = lines.map(|line| line.replacen("headlight heatmap", print, 1) + "\n").collect();
            let output = std::process::Command::new(shell).args(["-c", &script]).output();
            let Ok(output) = output else { continue }; // this shell is not on this system
            println!("{shell}");
            let read = String::from_utf8(output.stdout).unwrap();
            let mut words = read.lines();
            for text in &texts {
                let mut word = words.next().unwrap();
                let encoded = word == "--percent-encoded";
                if encoded {
                    word = words.next().unwrap();
                }
                let value = word.strip_prefix("--text=").unwrap_or_else(|| words.next().unwrap());
                let value = if encoded { percent_decode_str(value).decode_utf8().unwrap() } else { value.into() };
                assert_eq!(value, *text, "{shell}");
            }
        }
    }
}
