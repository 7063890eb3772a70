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
use super::special::Named;

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

pub(super) fn word_piece(folder: &Path, words: &Path, named: &Named) -> Result<Tokenizer, TextError> {
    let malformed = |cause: String| TextError::Malformed { path: words.to_owned(), cause };
    let settings: Settings = settings(&folder.join("tokenizer_config.json"))?;
    let bytes = std::fs::read(words)
        .map_err(|error| TextError::Unreadable { path: words.to_owned(), cause: error.to_string() })?;
    let usual = [
        ("unk_token", "[UNK]"),
        ("sep_token", "[SEP]"),
        ("pad_token", "[PAD]"),
        ("cls_token", "[CLS]"),
        ("mask_token", "[MASK]"),
    ]
    .map(|(part, piece)| (part, AddedToken::from(piece, true)));
    let part = |part: &str| {
        let token = named.part(part, &usual).map(|token| token.content.clone());
        token.ok_or_else(|| malformed(format!("the files beside it say that there is no {part}")))
    };
    let (unknown, cls, sep) = (part("unk_token")?, part("cls_token")?, part("sep_token")?);
    let vocabulary = WordPiece::read_bytes(&bytes).map_err(|error| malformed(error.to_string()))?;
    if !vocabulary.contains_key(&unknown) {
        // `transformers` takes the mark of Windows' editors for a part of the first piece too.
        let marked = vocabulary.contains_key(&format!("\u{feff}{unknown}"));
        let why = if marked { ", since a byte-order mark stands before it: save the file without one" } else { "" };
        return Err(malformed(format!("{unknown} is missing from the vocabulary{why}")));
    }
    let model = WordPiece::builder()
        .vocab(vocabulary)
        .unk_token(unknown)
        .build()
        .map_err(|error| malformed(error.to_string()))?;
    let mut tokenizer = Tokenizer::new(model);
    let normalizer =
        BertNormalizer::new(true, settings.tokenize_chinese_chars, settings.strip_accents, settings.do_lower_case);
    tokenizer.with_normalizer(Some(normalizer)).map_err(|error| malformed(error.to_string()))?;
    tokenizer.with_pre_tokenizer(Some(BertPreTokenizer));
    named.add_to(&mut tokenizer, &usual).map_err(malformed)?;
    let end = |piece: String| {
        let id =
            tokenizer.token_to_id(&piece).ok_or_else(|| malformed(format!("{piece} is missing from the vocabulary")));
        id.map(|id| (piece, id))
    };
    let processing = BertProcessing::new(end(sep)?, end(cls)?);
    tokenizer.with_post_processor(Some(processing));
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
