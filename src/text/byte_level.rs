//! RoBERTa's byte-level BPE tokenizer from the older files `vocab.json` and `merges.txt`.

use std::path::Path;

use serde::Deserialize;
use tokenizers::Tokenizer;
use tokenizers::models::bpe::BPE;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::processors::roberta::RobertaProcessing;

use super::TextError;
use super::guard::{check_files, guarded};
use super::special::{Named, like_roberta};
use crate::run::what_it_is;

/// The key of `tokenizer_config.json` that matters here.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Settings {
    add_prefix_space: bool,
}

pub(super) fn byte_level(
    folder: &Path,
    vocabulary: &Path,
    merges: &Path,
    named: &Named,
) -> Result<Tokenizer, TextError> {
    let malformed = |cause: String| TextError::Malformed { path: vocabulary.to_owned(), cause };
    let Settings { add_prefix_space } = super::vocab::settings(&folder.join("tokenizer_config.json"))?;
    let read = |path: &Path| {
        std::fs::read(path).map_err(|error| TextError::Unreadable { path: path.to_owned(), cause: error.to_string() })
    };
    let lines = read(merges)?;
    // Any text would pass for merges. An empty file is one without.
    if let Some(cause) = what_it_is(merges).filter(|_| !lines.is_empty()) {
        return Err(TextError::Malformed { path: merges.to_owned(), cause });
    }
    check_files(&read(vocabulary)?, &String::from_utf8_lossy(&lines)).map_err(malformed)?;
    let path = |path: &Path| path.to_str().map(str::to_owned).ok_or_else(|| malformed("its path is no text".into()));
    let (vocabulary, merges_path) = (path(vocabulary)?, path(merges)?);
    let model = guarded(|| BPE::from_file(&vocabulary, &merges_path).build())
        .map_err(|error| malformed(format!("with {}: {error}", merges.display())))?;
    let mut tokenizer = Tokenizer::new(model);
    tokenizer.with_pre_tokenizer(Some(ByteLevel::new(add_prefix_space, true, true)));
    tokenizer.with_decoder(Some(ByteLevel::default()));
    let usual = like_roberta("<unk>");
    named.add_to(&mut tokenizer, &usual).map_err(malformed)?;
    let end = |part: &str| named.end(&tokenizer, part, &usual).map_err(malformed);
    let processing = RobertaProcessing::new(end("sep_token")?, end("cls_token")?);
    tokenizer.with_post_processor(Some(processing.trim_offsets(true).add_prefix_space(add_prefix_space)));
    Ok(tokenizer)
}
