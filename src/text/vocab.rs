//! BERT's WordPiece tokenizer from the older files `vocab.txt` and `tokenizer_config.json`.

use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::{BertNormalizer, NormalizerWrapper};
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::processors::bert::BertProcessing;
use tokenizers::processors::roberta::RobertaProcessing;
use tokenizers::{AddedToken, Tokenizer};

use super::TextError;
use super::class::{Reading, reading};
use super::special::{Named, like_roberta};

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

impl Settings {
    fn normalizer(&self) -> BertNormalizer {
        BertNormalizer::new(true, self.tokenize_chinese_chars, self.strip_accents, self.do_lower_case)
    }
}

/// Has a `tokenizer.json` of BERT's class go by the folder's settings, as `transformers` does: they decide on case, accents
/// and Chinese characters, whatever that file says.
pub(super) fn normalize_by_settings(folder: &Path, tokenizer: &mut Tokenizer) -> Result<(), TextError> {
    if !matches!(tokenizer.get_normalizer(), Some(NormalizerWrapper::BertNormalizer(_))) {
        return Ok(());
    }
    let path = folder.join("tokenizer_config.json");
    let settings: Settings = settings(&path)?;
    let changed = tokenizer.with_normalizer(Some(settings.normalizer()));
    changed.map(|_| ()).map_err(|error| TextError::Malformed { path, cause: error.to_string() })
}

pub(super) fn word_piece(folder: &Path, words: &Path, named: &Named) -> Result<Tokenizer, TextError> {
    let malformed = |cause: String| TextError::Malformed { path: words.to_owned(), cause };
    let settings: Settings = settings(&folder.join("tokenizer_config.json"))?;
    let bytes = std::fs::read(words)
        .map_err(|error| TextError::Unreadable { path: words.to_owned(), cause: error.to_string() })?;
    let reading = reading(folder, words)?;
    let usual = usual(reading);
    let unknown = named.needed("unk_token", &usual).map_err(malformed)?;
    for part in ["cls_token", "sep_token"] {
        named.needed(part, &usual).map_err(malformed)?;
    }
    let vocabulary = WordPiece::read_bytes(&bytes).map_err(|error| malformed(error.to_string()))?;
    if !vocabulary.contains_key(unknown) {
        // `transformers` takes the mark of Windows' editors for a part of the first piece too.
        let marked = vocabulary.contains_key(&format!("\u{feff}{unknown}"));
        let why = if marked { ", since a byte-order mark stands before it: save the file without one" } else { "" };
        return Err(malformed(format!("{unknown} is missing from the vocabulary{why}")));
    }
    let model = WordPiece::builder()
        .vocab(vocabulary)
        .unk_token(unknown.to_owned())
        .build()
        .map_err(|error| malformed(error.to_string()))?;
    let mut tokenizer = Tokenizer::new(model);
    tokenizer.with_normalizer(Some(settings.normalizer())).map_err(|error| malformed(error.to_string()))?;
    tokenizer.with_pre_tokenizer(Some(BertPreTokenizer));
    named.add_to(&mut tokenizer, &usual).map_err(malformed)?;
    let end = |part: &str| named.end(&tokenizer, part, &usual).map_err(malformed);
    let (sep, cls) = (end("sep_token")?, end("cls_token")?);
    match reading {
        Reading::Bert => tokenizer.with_post_processor(Some(BertProcessing::new(sep, cls))),
        Reading::MpNet => tokenizer
            .with_post_processor(Some(RobertaProcessing::new(sep, cls).trim_offsets(true).add_prefix_space(false))),
    };
    Ok(tokenizer)
}

/// What each reading calls its special tokens.
fn usual(reading: Reading) -> Vec<(&'static str, AddedToken)> {
    let token = |piece: &str| AddedToken::from(piece, true);
    match reading {
        Reading::Bert => vec![
            ("unk_token", token("[UNK]")),
            ("sep_token", token("[SEP]")),
            ("pad_token", token("[PAD]")),
            ("cls_token", token("[CLS]")),
            ("mask_token", token("[MASK]")),
        ],
        Reading::MpNet => like_roberta("[UNK]"),
    }
}

/// Settings in a file; their defaults where it is not there.
pub(super) fn settings<T: Default + DeserializeOwned>(path: &Path) -> Result<T, TextError> {
    match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&crate::run::as_utf8(&bytes))
            .map_err(|error| TextError::Malformed { path: path.to_owned(), cause: error.to_string() }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(T::default()),
        Err(error) => Err(TextError::Unreadable { path: path.to_owned(), cause: error.to_string() }),
    }
}
