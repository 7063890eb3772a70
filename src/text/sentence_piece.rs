//! SentencePiece Unigram models (Kudo & Richardson 2018) from the older files `sentencepiece.bpe.model`,
//! `spm.model` and `spiece.model`. How each family numbers and normalises is that of the `tokenizer.json` files that
//! stand beside the published models.

use std::path::Path;

use base64::Engine;
use serde::Deserialize;
use serde_json::{Value, json};
use tokenizers::processors::bert::BertProcessing;
use tokenizers::{AddedToken, Tokenizer};

use super::TextError;
use super::guard::guarded;
use super::piece_file::Pieces;
use super::special::Named;

/// Settings of the families that keep such files.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Settings {
    model_type: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TokenizerSettings {
    do_lower_case: Option<bool>,
    split_by_punct: bool,
    keep_accents: bool,
}

/// `family` is the folder's, where it is known already; else its config says.
pub(super) fn sentence_piece(
    folder: &Path,
    path: &Path,
    family: Option<&str>,
    named: &Named,
) -> Result<Tokenizer, TextError> {
    let malformed = |cause: String| TextError::Malformed { path: path.to_owned(), cause };
    let bytes = std::fs::read(path)
        .map_err(|error| TextError::Unreadable { path: path.to_owned(), cause: error.to_string() })?;
    let model = Pieces::read(&bytes).map_err(malformed)?;
    if model.kind != 1 {
        return Err(malformed("it is no Unigram model, and this kind is known from tokenizer.json alone".into()));
    }
    let family = match family {
        Some(family) => family.to_owned(),
        None => super::vocab::settings::<Settings>(&folder.join("config.json"))?.model_type.unwrap_or_default(),
    };
    let settings: TokenizerSettings = super::vocab::settings(&folder.join("tokenizer_config.json"))?;
    let usual_mask = if matches!(family.as_str(), "deberta-v2" | "albert") { "[MASK]" } else { "<mask>" };
    let usual = [("mask_token", AddedToken::from(usual_mask, true).lstrip(true))];
    let mask = named.part("mask_token", &usual).map_or(usual_mask, |token| token.content.as_str());
    let whole = match family.as_str() {
        "xlm-roberta" => xlm_roberta(&model, mask),
        "camembert" => camembert(&model, mask),
        "deberta-v2" => deberta(&model, &settings),
        "albert" => albert(&model, &settings),
        other => {
            return Err(malformed(format!(
                "how the family {other} numbers its pieces is not known: save its tokenizer.json beside it"
            )));
        }
    };
    let ends: &[(&str, &str)] = match family.as_str() {
        "xlm-roberta" | "camembert" => &[("bos_token", "<s>"), ("eos_token", "</s>")],
        "albert" => &[("cls_token", "[CLS]"), ("sep_token", "[SEP]")],
        _ => &[],
    };
    for &(part, usual) in ends {
        let said = named.part(part, &[]).map(|token| token.content.as_str());
        if let Some(other) = said.filter(|said| *said != usual) {
            return Err(malformed(format!(
                "the files beside it name “{other}” as {part}, and not {usual}, which is known from tokenizer.json alone: \
                 save it beside this one"
            )));
        }
    }
    let json = whole.map_err(malformed)?.to_string();
    let mut tokenizer = guarded(|| Tokenizer::from_bytes(json)).map_err(malformed)?;
    // DeBERTa's files have no mask.
    named.without_list_of_map().add_to(&mut tokenizer, &usual).map_err(malformed)?;
    if family == "deberta-v2" {
        let end = |part: &str, usual: &str| {
            let piece = named.part(part, &[]).map_or(usual, |token| token.content.as_str()).to_owned();
            let id = tokenizer.token_to_id(&piece);
            id.map(|id| (piece.clone(), id)).ok_or_else(|| malformed(format!("{piece} is missing from it")))
        };
        let processing = BertProcessing::new(end("sep_token", "[SEP]")?, end("cls_token", "[CLS]")?);
        tokenizer.with_post_processor(Some(processing));
    }
    Ok(tokenizer)
}

/// The special tokens of XLM-RoBERTa come first, in another order than in the file, and the mask last.
fn xlm_roberta(model: &Pieces, mask: &str) -> Result<Value, String> {
    let first = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)];
    like_roberta(model, &first, 3, [("<s>", 0), ("</s>", 2)], mask)
}

/// CamemBERT keeps the markers of the file, behind others of the same names that are not used.
fn camembert(model: &Pieces, mask: &str) -> Result<Value, String> {
    let first = [("<s>NOTUSED", 0.0), ("<pad>", 0.0), ("</s>NOTUSED", 0.0), ("<unk>", 0.0), ("<unk>NOTUSED", -100.0)];
    like_roberta(model, &first, 1, [("<s>", 5), ("</s>", 6)], mask)
}

/// The pieces of the file from `skipped` on stand behind `first`.
fn like_roberta(
    model: &Pieces,
    first: &[(&str, f32)],
    skipped: usize,
    ends: [(&str, usize); 2],
    mask: &str,
) -> Result<Value, String> {
    let own = model.pieces.get(skipped..).ok_or("it has no pieces")?.iter().cloned();
    let first = first.iter().map(|(piece, score)| ((*piece).to_owned(), *score));
    let vocabulary: Vec<(String, f32)> = first.chain(own).chain([(mask.to_owned(), 0.0)]).collect();
    for (piece, id) in ends {
        if vocabulary.get(id).is_none_or(|(own, _)| own != piece) {
            return Err(format!("{piece} is not where this family has it"));
        }
    }
    let [(start, start_id), (end, end_id)] = ends;
    let mask_id = vocabulary.len() - 1;
    let special = |id: &str| json!({"SpecialToken": {"id": id, "type_id": 0}});
    let text = |id: &str| json!({"Sequence": {"id": id, "type_id": 0}});
    let added = [(start, start_id), ("<pad>", 1), (end, end_id), ("<unk>", 3)];
    // One of another name comes with flags of its own.
    let usual_mask = (mask == "<mask>").then_some((mask, mask_id));
    Ok(whole(&Parts {
        vocabulary: &vocabulary,
        unknown: 3,
        added: &added.into_iter().chain(usual_mask).collect::<Vec<_>>(),
        normalizers: precompiled(model).into_iter().collect(),
        splits: vec![json!({"type": "WhitespaceSplit"})],
        single: vec![special(start), text("A"), special(end)],
        pair: vec![special(start), text("A"), special(end), special(end), text("B"), special(end)],
        ends,
    }))
}

/// The file's own numbers; the mask comes behind them, and behind the tokens that other files add.
fn deberta(model: &Pieces, settings: &TokenizerSettings) -> Result<Value, String> {
    let mut normalizers = Vec::new();
    if settings.do_lower_case.unwrap_or(false) {
        normalizers.push(json!({"type": "Lowercase"}));
    }
    normalizers.push(json!({"type": "Strip", "strip_left": true, "strip_right": true}));
    normalizers.extend(precompiled(model));
    normalizers.push(one_blank());
    let punctuation = json!({"type": "Punctuation", "behavior": "Isolated"});
    let splits = if settings.split_by_punct { vec![punctuation] } else { Vec::new() };
    like_bert(&model.pieces, ["[PAD]", "[UNK]"], normalizers, splits)
}

/// The file's own numbers. Of `1985,` the comma is a piece of its own.
fn albert(model: &Pieces, settings: &TokenizerSettings) -> Result<Value, String> {
    let number_and_comma = |piece: &str| {
        let mut last = piece.chars().rev();
        last.next() == Some(',') && last.next().is_some_and(char::is_numeric)
    };
    let lowered =
        |(piece, score): &(String, f32)| (piece.clone(), score - if number_and_comma(piece) { 100.0 } else { 0.0 });
    let vocabulary: Vec<(String, f32)> = model.pieces.iter().map(lowered).collect();
    let quotes = |from: &str| json!({"type": "Replace", "pattern": {"String": from}, "content": "\""});
    let mut normalizers = vec![quotes("``"), quotes("''")];
    if !settings.keep_accents {
        normalizers.extend([json!({"type": "NFKD"}), json!({"type": "StripAccents"})]);
    }
    if settings.do_lower_case.unwrap_or(true) {
        normalizers.push(json!({"type": "Lowercase"}));
    }
    normalizers.extend(precompiled(model));
    normalizers.push(one_blank());
    like_bert(&vocabulary, ["<pad>", "<unk>"], normalizers, vec![json!({"type": "WhitespaceSplit"})])
}

/// `[CLS]`, a text, `[SEP]`, and the second text as the second segment; all numbered as in `vocabulary`.
fn like_bert(
    vocabulary: &[(String, f32)],
    [pad, unknown]: [&str; 2],
    normalizers: Vec<Value>,
    splits: Vec<Value>,
) -> Result<Value, String> {
    let [cls, sep] = ["[CLS]", "[SEP]"].map(|piece| position(vocabulary, piece));
    let (cls, sep, unknown_id) = (cls?, sep?, position(vocabulary, unknown)?);
    let pad_id = position(vocabulary, pad)?;
    let mask = position(vocabulary, "[MASK]").ok().map(|id| ("[MASK]", id));
    let added = [(pad, pad_id), ("[CLS]", cls), ("[SEP]", sep), (unknown, unknown_id)];
    let special = |id: &str, kind: u8| json!({"SpecialToken": {"id": id, "type_id": kind}});
    let text = |id: &str, kind: u8| json!({"Sequence": {"id": id, "type_id": kind}});
    Ok(whole(&Parts {
        vocabulary,
        unknown: unknown_id,
        added: &added.into_iter().chain(mask).collect::<Vec<_>>(),
        normalizers,
        splits,
        single: vec![special("[CLS]", 0), text("A", 0), special("[SEP]", 0)],
        pair: vec![special("[CLS]", 0), text("A", 0), special("[SEP]", 0), text("B", 1), special("[SEP]", 1)],
        ends: [("[CLS]", cls), ("[SEP]", sep)],
    }))
}

fn position(vocabulary: &[(String, f32)], piece: &str) -> Result<usize, String> {
    vocabulary.iter().position(|(own, _)| own == piece).ok_or_else(|| format!("{piece} is missing from it"))
}

/// Blanks in a row become one.
fn one_blank() -> Value {
    json!({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "})
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
