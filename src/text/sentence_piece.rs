//! SentencePiece Unigram models (Kudo & Richardson 2018) from the older files `sentencepiece.bpe.model` and `spm.model`.

use std::path::Path;

use base64::Engine;
use serde::Deserialize;
use serde_json::{Value, json};
use tokenizers::Tokenizer;

use super::TextError;

/// What of a model file is needed.
#[derive(Debug, Default, PartialEq)]
struct Pieces {
    /// Each piece with its score: the logarithm of its probability.
    pieces: Vec<(String, f32)>,
    /// How characters are normalised first.
    charsmap: Vec<u8>,
    /// 1 is Unigram, 2 BPE.
    kind: u64,
}

/// Settings of the families that keep such files.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Settings {
    model_type: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TokenizerSettings {
    do_lower_case: bool,
    split_by_punct: bool,
}

pub(super) fn sentence_piece(folder: &Path, path: &Path) -> Result<Tokenizer, TextError> {
    let malformed = |cause: String| TextError::Malformed { path: path.to_owned(), cause };
    let bytes = std::fs::read(path)
        .map_err(|error| TextError::Unreadable { path: path.to_owned(), cause: error.to_string() })?;
    let model = Pieces::read(&bytes).map_err(malformed)?;
    if model.kind != 1 {
        return Err(malformed("it is no Unigram model, and this kind is known from tokenizer.json alone".into()));
    }
    let Settings { model_type } = super::vocab::settings(&folder.join("config.json"))?;
    let settings: TokenizerSettings = super::vocab::settings(&folder.join("tokenizer_config.json"))?;
    let whole = match model_type.as_str() {
        "xlm-roberta" => xlm_roberta(&model),
        "deberta-v2" => deberta(&model, &settings),
        other => {
            return Err(malformed(format!(
                "how the family {other} numbers its pieces is not known: save its tokenizer.json beside it"
            )));
        }
    };
    let json = whole.map_err(malformed)?.to_string();
    Tokenizer::from_bytes(json).map_err(|error| malformed(error.to_string()))
}

/// The special tokens of XLM-RoBERTa come first, in another order than in the file, and the mask last.
fn xlm_roberta(model: &Pieces) -> Result<Value, String> {
    let specials = ["<s>", "<pad>", "</s>", "<unk>"].map(|piece| (piece.to_owned(), 0.0));
    let own = model.pieces.get(3..).ok_or("it has no pieces")?.iter().cloned();
    let vocabulary: Vec<(String, f32)> = specials.into_iter().chain(own).chain([("<mask>".to_owned(), 0.0)]).collect();
    let mask = vocabulary.len() - 1;
    let special = |id: &str, kind: u8| json!({"SpecialToken": {"id": id, "type_id": kind}});
    let text = |id: &str| json!({"Sequence": {"id": id, "type_id": 0}});
    Ok(whole(&Parts {
        vocabulary: &vocabulary,
        unknown: 3,
        added: &[("<s>", 0), ("<pad>", 1), ("</s>", 2), ("<unk>", 3), ("<mask>", mask)],
        normalizers: precompiled(model).into_iter().collect(),
        splits: vec![json!({"type": "WhitespaceSplit"})],
        single: vec![special("<s>", 0), text("A"), special("</s>", 0)],
        pair: vec![special("<s>", 0), text("A"), special("</s>", 0), special("</s>", 0), text("B"), special("</s>", 0)],
        ends: [("<s>", 0), ("</s>", 2)],
    }))
}

/// The file's own numbers, and the mask behind them.
fn deberta(model: &Pieces, settings: &TokenizerSettings) -> Result<Value, String> {
    let mut vocabulary = model.pieces.clone();
    let id = |piece: &str| vocabulary.iter().position(|(own, _)| own == piece);
    let needed = |piece: &str| id(piece).ok_or_else(|| format!("{piece} is missing from it"));
    let (pad, cls, sep, unknown) = (needed("[PAD]")?, needed("[CLS]")?, needed("[SEP]")?, needed("[UNK]")?);
    let mask = id("[MASK]").unwrap_or(vocabulary.len());
    if mask == vocabulary.len() {
        vocabulary.push(("[MASK]".to_owned(), 0.0));
    }
    let mut normalizers = Vec::new();
    if settings.do_lower_case {
        normalizers.push(json!({"type": "Lowercase"}));
    }
    normalizers.push(json!({"type": "Strip", "strip_left": true, "strip_right": true}));
    normalizers.extend(precompiled(model));
    normalizers.push(json!({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}));
    let punctuation = json!({"type": "Punctuation", "behavior": "Isolated"});
    let special = |id: &str, kind: u8| json!({"SpecialToken": {"id": id, "type_id": kind}});
    let text = |id: &str, kind: u8| json!({"Sequence": {"id": id, "type_id": kind}});
    Ok(whole(&Parts {
        vocabulary: &vocabulary,
        unknown,
        added: &[("[PAD]", pad), ("[CLS]", cls), ("[SEP]", sep), ("[UNK]", unknown), ("[MASK]", mask)],
        normalizers,
        splits: if settings.split_by_punct { vec![punctuation] } else { Vec::new() },
        single: vec![special("[CLS]", 0), text("A", 0), special("[SEP]", 0)],
        pair: vec![special("[CLS]", 0), text("A", 0), special("[SEP]", 0), text("B", 1), special("[SEP]", 1)],
        ends: [("[CLS]", cls), ("[SEP]", sep)],
    }))
}

/// What tells one family's tokenizer from another's.
struct Parts<'a> {
    vocabulary: &'a [(String, f32)],
    unknown: usize,
    added: &'a [(&'a str, usize)],
    normalizers: Vec<Value>,
    /// What splits the text before blanks become `▁`.
    splits: Vec<Value>,
    single: Vec<Value>,
    pair: Vec<Value>,
    ends: [(&'a str, usize); 2],
}

/// The same as `tokenizer.json` holds it.
fn whole(parts: &Parts<'_>) -> Value {
    let underline = json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true});
    let added = parts.added.iter().map(|(piece, id)| {
        // The mask takes the blank before it.
        let strips = piece.to_lowercase().contains("mask");
        json!({"id": id, "content": piece, "single_word": false, "lstrip": strips, "rstrip": false,
               "normalized": false, "special": true})
    });
    let ends = parts
        .ends
        .iter()
        .map(|(piece, id)| ((*piece).to_owned(), json!({"id": piece, "ids": [id], "tokens": [piece]})));
    let mut splits = parts.splits.clone();
    splits.push(underline.clone());
    json!({
        "version": "1.0",
        "added_tokens": added.collect::<Vec<_>>(),
        "normalizer": {"type": "Sequence", "normalizers": parts.normalizers},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": splits},
        "post_processor": {
            "type": "TemplateProcessing", "single": parts.single, "pair": parts.pair,
            "special_tokens": ends.collect::<serde_json::Map<_, _>>(),
        },
        "decoder": underline,
        "model": {"type": "Unigram", "unk_id": parts.unknown, "vocab": parts.vocabulary, "byte_fallback": false},
    })
}

/// How the file normalises characters; `None` where it leaves them.
fn precompiled(model: &Pieces) -> Option<Value> {
    let map = base64::engine::general_purpose::STANDARD.encode(&model.charsmap);
    (!map.is_empty()).then(|| json!({"type": "Precompiled", "precompiled_charsmap": map}))
}

impl Pieces {
    /// Reads the parts of a model file (a protocol buffer) that are needed, and skips the rest.
    fn read(bytes: &[u8]) -> Result<Self, String> {
        let mut model = Self { kind: 1, ..Self::default() };
        let mut fields = Fields(bytes);
        while let Some((number, value)) = fields.next()? {
            match (number, value) {
                (1, Field::Bytes(piece)) => {
                    let (mut text, mut score) = (String::new(), 0.0);
                    let mut fields = Fields(piece);
                    while let Some((number, value)) = fields.next()? {
                        match (number, value) {
                            (1, Field::Bytes(own)) => text = String::from_utf8_lossy(own).into_owned(),
                            (2, Field::Four(own)) => score = f32::from_le_bytes(own),
                            _ => {}
                        }
                    }
                    model.pieces.push((text, if score.is_finite() { score } else { 0.0 }));
                }
                (2, Field::Bytes(trainer)) => {
                    let mut fields = Fields(trainer);
                    while let Some((number, value)) = fields.next()? {
                        if let (3, Field::Number(kind)) = (number, value) {
                            model.kind = kind;
                        }
                    }
                }
                (3, Field::Bytes(normalizer)) => {
                    let mut fields = Fields(normalizer);
                    while let Some((number, value)) = fields.next()? {
                        if let (2, Field::Bytes(map)) = (number, value) {
                            model.charsmap = map.to_vec();
                        }
                    }
                }
                _ => {}
            }
        }
        if model.pieces.is_empty() { Err("it is no SentencePiece model: it has no pieces".into()) } else { Ok(model) }
    }
}

/// A protocol buffer's fields, one after the other.
struct Fields<'a>(&'a [u8]);

enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    Four([u8; 4]),
    Other,
}

impl<'a> Fields<'a> {
    fn next(&mut self) -> Result<Option<(u64, Field<'a>)>, String> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let key = self.number()?;
        let value = match key & 7 {
            0 => Field::Number(self.number()?),
            1 => {
                self.take(8)?;
                Field::Other
            }
            2 => {
                let length = self.number()?;
                Field::Bytes(self.take(usize::try_from(length).unwrap_or(usize::MAX))?)
            }
            5 => {
                let bytes = self.take(4)?;
                Field::Four([bytes[0], bytes[1], bytes[2], bytes[3]])
            }
            other => return Err(format!("it is no SentencePiece model: a field of kind {other}")),
        };
        Ok(Some((key >> 3, value)))
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let taken = self.0.get(..count).ok_or("it is no whole SentencePiece model")?;
        self.0 = &self.0[count..];
        Ok(taken)
    }

    fn number(&mut self) -> Result<u64, String> {
        let mut number = 0;
        for at in 0..10 {
            let byte = self.take(1)?[0];
            number |= u64::from(byte & 0x7f).checked_shl(7 * at).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err("it is no SentencePiece model: a number without an end".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_model_gives_a_sentence() {
        for bytes in [&b""[..], b"\x0a", b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x0f", b"text"] {
            assert!(Pieces::read(bytes).unwrap_err().contains("SentencePiece model"), "{bytes:?}");
        }
        let model = Pieces::read(b"\x0a\x08\x0a\x01a\x15\0\0\x80\xbf\x12\x02\x18\x02").unwrap();
        assert_eq!(model, Pieces { pieces: vec![("a".into(), -1.0)], charsmap: Vec::new(), kind: 2 });
    }
}
