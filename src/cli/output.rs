//! Where results go: to files, or to standard output, whose name is “-”.

use std::io::{ErrorKind, Write};
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use clap::ValueEnum;

use crate::run::{RunError, is_standard_output, write_bytes};

/// Whether a name is that of standard output, or among inputs of standard input. A file of that name is `./-`.
pub fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

/// Writes a result.
pub fn write(out: &Path, bytes: impl AsRef<[u8]>) -> Result<(), RunError> {
    if is_standard(out) { to_standard_output(bytes.as_ref()) } else { write_bytes(out, bytes) }
}

/// Tells in a line what was written: on standard output, unless that is where the result itself went.
pub fn tell(out: &Path, text: &str) -> Result<()> {
    let name = if is_standard(out) { "standard output".into() } else { out.display().to_string() };
    let line = if text.is_empty() { name } else { format!("{name}: {text}") };
    if takes_standard_output(out) {
        complain(&line);
        return Ok(());
    }
    print(&format!("{line}\n"))
}

/// Whether a result under this name comes out of standard output.
pub fn takes_standard_output(out: &Path) -> bool {
    is_standard(out) || is_standard_output(out)
}

/// Writes to standard output.
pub fn print(text: &str) -> Result<()> {
    Ok(to_standard_output(text.as_bytes())?)
}

/// Writes a line to standard error. If nobody reads that either, nobody can be told.
pub fn complain(line: &str) {
    writeln!(std::io::stderr(), "headlight: {line}").ok();
}

fn to_standard_output(bytes: &[u8]) -> Result<(), RunError> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => RunError::ReaderGone("standard output".into()),
        _ => RunError::CannotWrite { path: "standard output".into(), cause: error.to_string() },
    })
}

/// A folder to be written, which standard output is not.
pub fn folder(out: &Path) -> Result<()> {
    if is_standard(out) {
        bail!("a folder is written here, and standard output (-) takes none: name a folder (one called “-” is ./-)");
    }
    Ok(())
}

/// What kind of file to write: as the name's ending says, else as `--format` does.
pub fn kind<K: ValueEnum + PartialEq>(out: &Path, format: Option<K>) -> Result<K> {
    let ending = out.extension().unwrap_or_default().to_string_lossy().into_owned();
    match (K::from_str(&ending, true).ok(), format) {
        (Some(named), Some(format)) if named != format => {
            let format = format.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
            Err(anyhow!("{} ends in .{ending}, but --format says {format}: leave one of them out", out.display()))
        }
        (Some(kind), _) | (None, Some(kind)) => Ok(kind),
        (None, None) => {
            let known = K::value_variants().iter().filter_map(ValueEnum::to_possible_value);
            let known: Vec<String> = known.map(|value| value.get_name().to_owned()).collect();
            let any_of = |sign: &str| {
                let known: Vec<String> = known.iter().map(|name| format!("{sign}{name}")).collect();
                known.split_last().map_or_else(String::new, |(last, first)| format!("{} or {last}", first.join(", ")))
            };
            if is_standard(out) {
                bail!("“-” has no ending that says what to write: name it, as --format {}", any_of(""));
            }
            bail!(
                "{} has no ending that says what to write: end it with {}, or name a --format",
                out.display(),
                any_of(".")
            )
        }
    }
}
