//! What keeps the tokenizer library from being brought down by a file.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Deserialize;
use serde_json::Value;

use crate::run::panic_text;

/// Work of the tokenizer library; a panic in it becomes a sentence.
pub fn guarded<T>(work: impl FnOnce() -> tokenizers::Result<T>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(outcome) => outcome.map_err(|error| error.to_string()),
        Err(panic) => {
            let cause = panic_text(&*panic).and_then(|text| text.lines().next()).unwrap_or("no cause was given");
            Err(format!("the tokenizer library failed on it ({cause})"))
        }
    }
}

#[derive(Deserialize)]
struct Whole {
    model: Model,
}

#[derive(Deserialize)]
struct Model {
    vocab: Value,
    merges: Vec<Merge>,
    continuing_subword_prefix: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Merge {
    Pair(String, String),
    Line(String),
}

/// Looks at the merges of a `tokenizer.json`, which the library takes on trust. What is no BPE model is left to the library.
pub fn check_json(bytes: &[u8]) -> Result<(), String> {
    // Most tokenizers have none, and some have a quarter of a million pieces that need not be read twice.
    let has_merges = bytes.windows(8).any(|part| part == b"\"merges\"");
    if !has_merges {
        return Ok(());
    }
    let model = match serde_json::from_slice::<Whole>(bytes) {
        Ok(whole) => whole.model,
        // It is shaped otherwise.
        Err(error) if error.is_data() => return Ok(()),
        // The library would build the model before it came to the fault.
        Err(error) => return Err(error.to_string()),
    };
    let Some(vocabulary) = model.vocab.as_object() else { return Ok(()) };
    let prefix = model.continuing_subword_prefix.as_deref().unwrap_or_default();
    let merges = model.merges.iter().filter_map(|merge| match merge {
        Merge::Pair(a, b) => Some((a.as_str(), b.as_str())),
        Merge::Line(line) => line.split_once(' '),
    });
    check(|piece| vocabulary.contains_key(piece), prefix, merges)
}

/// Looks at the merges of a `merges.txt` beside its `vocab.json`.
pub fn check_files(vocabulary: &[u8], merges: &str) -> Result<(), String> {
    let vocabulary: HashMap<String, Value> = serde_json::from_slice(vocabulary).map_err(|error| error.to_string())?;
    let lines = merges.lines().filter(|line| !line.starts_with("#version"));
    check(|piece| vocabulary.contains_key(piece), "", lines.filter_map(|line| line.split_once(' ')))
}

fn check<'a>(
    has: impl Fn(&str) -> bool,
    prefix: &str,
    merges: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<(), String> {
    for (number, (a, b)) in merges.enumerate() {
        // The library takes off as many bytes as the prefix has, whatever they are.
        let rest = b.get(prefix.len()..);
        if rest.is_none_or(|rest| !has(&format!("{a}{rest}"))) {
            return Err(format!("merge {number} makes no piece of its vocabulary"));
        }
    }
    Ok(())
}
