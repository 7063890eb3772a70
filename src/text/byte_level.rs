//! RoBERTa's byte-level BPE tokenizer from the older files `vocab.json` and `merges.txt`.

use std::path::Path;

use serde::Deserialize;
use tokenizers::models::bpe::BPE;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::processors::roberta::RobertaProcessing;
use tokenizers::{AddedToken, Tokenizer};

use super::TextError;
use super::guard::{check_files, guarded};
use crate::run::what_it_is;

/// The key of `tokenizer_config.json` that matters here.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Settings {
    add_prefix_space: bool,
}

pub(super) fn byte_level(folder: &Path, vocabulary: &Path, merges: &Path) -> Result<Tokenizer, TextError> {
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
    let id = |piece: &str| {
        tokenizer.token_to_id(piece).ok_or_else(|| malformed(format!("{piece} is missing from the vocabulary")))
    };
    let (cls, sep) = (id("<s>")?, id("</s>")?);
    let processing = RobertaProcessing::new(("</s>".into(), sep), ("<s>".into(), cls));
    tokenizer.with_pre_tokenizer(Some(ByteLevel::new(add_prefix_space, true, true)));
    tokenizer.with_decoder(Some(ByteLevel::default()));
    tokenizer.with_post_processor(Some(processing.trim_offsets(true).add_prefix_space(add_prefix_space)));
    // The mask takes the blank before it.
    let specials = [("<s>", false), ("<pad>", false), ("</s>", false), ("<unk>", false), ("<mask>", true)];
    let present: Vec<AddedToken> = specials
        .iter()
        .filter(|(piece, _)| tokenizer.token_to_id(piece).is_some())
        .map(|(piece, strips)| AddedToken::from(*piece, true).lstrip(*strips))
        .collect();
    tokenizer.add_special_tokens(present).map_err(|error| malformed(error.to_string()))?;
    Ok(tokenizer)
}
