//! Which reading of a `vocab.txt` a folder asks for, since files of that name are read in several ways.

use std::path::Path;

use serde_json::{Map, Value};

use super::TextError;
use super::vocab::settings;

/// A way to read a `vocab.txt` as WordPiece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// `[CLS]`, a text, `[SEP]`.
    Bert,
    /// The same words, with `<s>` and `</s>` around the text.
    MpNet,
}

/// Classes of `transformers`, now or in the past, that read such a file as BERT does.
const LIKE_BERT: [&str; 14] = [
    "BertTokenizer",
    "DistilBertTokenizer",
    "ElectraTokenizer",
    "MobileBertTokenizer",
    "SqueezeBertTokenizer",
    "LayoutLMTokenizer",
    "LxmertTokenizer",
    "ConvBertTokenizer",
    "RetriBertTokenizer",
    "RealmTokenizer",
    "NezhaTokenizer",
    "DPRContextEncoderTokenizer",
    "DPRQuestionEncoderTokenizer",
    "DPRReaderTokenizer",
];

/// The class that `tokenizer_config.json` names, or else `config.json`, or else the one of the model's family; and
/// whether it was named.
fn class(folder: &Path) -> Result<(String, bool), TextError> {
    let config: Map<String, Value> = settings(&folder.join("config.json"))?;
    let named: Map<String, Value> = settings(&folder.join("tokenizer_config.json"))?;
    let text = |keys: &Map<String, Value>, key: &str| {
        keys.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let class = text(&named, "tokenizer_class").or_else(|| text(&config, "tokenizer_class"));
    let said = class.is_some();
    let class = class.unwrap_or_else(|| of_family(&text(&config, "model_type").unwrap_or_default()).to_owned());
    Ok((class.strip_suffix("Fast").map_or(class.clone(), str::to_owned), said))
}

/// Whether the folder's tokenizer is BERT's own class, which goes by its settings even beside a `tokenizer.json`.
pub(super) fn is_bert(folder: &Path) -> Result<bool, TextError> {
    let config = folder.join("config.json");
    Ok(config.is_file() && LIKE_BERT.contains(&class(folder)?.0.as_str()))
}

/// How the folder's `vocab.txt` is read.
pub(super) fn reading(folder: &Path, words: &Path) -> Result<Reading, TextError> {
    let (class, said) = class(folder)?;
    match class.as_str() {
        like_bert if LIKE_BERT.contains(&like_bert) => Ok(Reading::Bert),
        "MPNetTokenizer" => Ok(Reading::MpNet),
        other => {
            let why = if said { "is named as the tokenizer's class" } else { "is the class of this model's family" };
            let cause = format!(
                "{other} {why}, and it does not read such a file as BERT does: save its tokenizer.json beside it, or, where \
                 the words are BERT's, write \"tokenizer_class\": \"BertTokenizer\" into tokenizer_config.json"
            );
            Err(TextError::Malformed { path: words.to_owned(), cause })
        }
    }
}

/// The families whose own tokenizer is another than BERT's.
fn of_family(family: &str) -> &'static str {
    match family {
        "mpnet" => "MPNetTokenizer",
        "roberta" | "roberta-prelayernorm" | "longformer" | "data2vec-text" => "RobertaTokenizer",
        "xlm-roberta" | "xlm-roberta-xl" | "xmod" => "XLMRobertaTokenizer",
        "camembert" => "CamembertTokenizer",
        "albert" => "AlbertTokenizer",
        "deberta" => "DebertaTokenizer",
        "deberta-v2" => "DebertaV2Tokenizer",
        "modernbert" => "PreTrainedTokenizer",
        "roformer" => "RoFormerTokenizer",
        "roc_bert" => "RoCBertTokenizer",
        "funnel" => "FunnelTokenizer",
        "canine" => "CanineTokenizer",
        "esm" => "EsmTokenizer",
        _ => "BertTokenizer",
    }
}
