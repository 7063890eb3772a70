//! BERT's WordPiece tokenizer from the older files `vocab.txt` and `tokenizer_config.json`.

use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::processors::bert::BertProcessing;
use tokenizers::{AddedToken, Tokenizer};

use super::TextError;

/// The keys of `tokenizer_config.json` that matter here, with the defaults of `transformers`' BertTokenizer.
#[derive(Debug, Deserialize)]
#[serde(default)]
struct Settings {
    do_lower_case: bool,
    tokenize_chinese_chars: bool,
    strip_accents: Option<bool>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { do_lower_case: true, tokenize_chinese_chars: true, strip_accents: None }
    }
}

pub(super) fn word_piece(folder: &Path, words: &Path) -> Result<Tokenizer, TextError> {
    let malformed = |cause: String| TextError::Malformed { path: words.to_owned(), cause };
    let settings: Settings = settings(&folder.join("tokenizer_config.json"))?;
    let bytes = std::fs::read(words)
        .map_err(|error| TextError::Unreadable { path: words.to_owned(), cause: error.to_string() })?;
    let vocabulary = WordPiece::read_bytes(&bytes).map_err(|error| malformed(error.to_string()))?;
    let model = WordPiece::builder().vocab(vocabulary).build().map_err(|error| malformed(error.to_string()))?;
    let mut tokenizer = Tokenizer::new(model);
    let id = |piece: &str| {
        tokenizer.token_to_id(piece).ok_or_else(|| malformed(format!("{piece} is missing from the vocabulary")))
    };
    id("[UNK]")?;
    let (cls, sep) = (id("[CLS]")?, id("[SEP]")?);
    let normalizer =
        BertNormalizer::new(true, settings.tokenize_chinese_chars, settings.strip_accents, settings.do_lower_case);
    tokenizer.with_normalizer(Some(normalizer)).map_err(|error| malformed(error.to_string()))?;
    tokenizer.with_pre_tokenizer(Some(BertPreTokenizer));
    tokenizer.with_post_processor(Some(BertProcessing::new(("[SEP]".into(), sep), ("[CLS]".into(), cls))));
    let specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];
    let present: Vec<AddedToken> = specials
        .iter()
        .filter(|piece| tokenizer.token_to_id(piece).is_some())
        .map(|piece| AddedToken::from(*piece, true))
        .collect();
    tokenizer.add_special_tokens(present).map_err(|error| malformed(error.to_string()))?;
    Ok(tokenizer)
}

/// Settings in a file; their defaults where it is not there.
pub(super) fn settings<T: Default + DeserializeOwned>(path: &Path) -> Result<T, TextError> {
    match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map_err(|error| TextError::Malformed { path: path.to_owned(), cause: error.to_string() }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(T::default()),
        Err(error) => Err(TextError::Unreadable { path: path.to_owned(), cause: error.to_string() }),
    }
}
