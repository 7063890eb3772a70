//! Which family a folder is of whose `config.json` has no `model_type`, as many of 2019 to 2021 have it: by its
//! `architectures`, else by the names of its weights, and where those fit BERT and RoBERTa, whose positions are counted
//! otherwise, by what tokenizer and settings say. Where that is not clear, nothing is guessed.

use std::io::Read;
use std::path::Path;

use crate::model::config::Stored;

/// How it is known which family a folder is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FamilyBy {
    /// By `model_type`.
    Name,
    /// By `architectures`, of which this is one.
    Architecture(String),
    /// By names of weights and by what else is there, such as `roberta.`.
    Evidence(String),
}

/// RoBERTa and those that compute as it does.
const KIN: [&str; 3] = ["roberta", "xlm-roberta", "camembert"];

/// Which `model_type` a config names.
///
/// # Errors
/// A sentence, if it names none that is known, or several.
pub fn named(stored: &Stored) -> Result<Option<(String, FamilyBy)>, String> {
    let model_type = stored.text("model_type", "")?;
    if !model_type.is_empty() {
        return Ok(Some((model_type, FamilyBy::Name)));
    }
    let mut found: Option<(&str, String)> = None;
    for class in stored.words("architectures")? {
        let of = of_class(&class).ok_or_else(|| {
            let line = line_of("bert");
            format!(
                "it has no model_type, and its architectures name {class}, which is of no family that is known ({}): add \
                 the line of the one that it computes as, such as {line}",
                known()
            )
        })?;
        match &found {
            Some((other, first)) if *other != of => {
                return Err(format!(
                    "it has no model_type, and its architectures name {first} and {class}, which are of two families: \
                     add {} or {}",
                    line_of(other),
                    line_of(of)
                ));
            }
            _ => found = Some((of, class)),
        }
    }
    Ok(found.map(|(of, class)| (of.to_owned(), FamilyBy::Architecture(class))))
}

/// The family of a class such as `RobertaForMaskedLM` or `TFBertModel`. What follows a family's name must be what it is
/// for: a `RobertaPreLayerNormModel` is no RoBERTa.
fn of_class(class: &str) -> Option<&'static str> {
    let plain = class.strip_prefix("TF").or_else(|| class.strip_prefix("Flax")).unwrap_or(class);
    let is = |name: &str| {
        let letters = name.replace('-', "");
        let head = plain.get(..letters.len()).filter(|head| head.eq_ignore_ascii_case(&letters))?;
        let rest = &plain[head.len()..];
        ["Model", "For", "LMHead", "PreTrained"].iter().any(|end| rest.starts_with(end)).then_some(())
    };
    types().find(|name| is(name).is_some())
}

fn types() -> impl Iterator<Item = &'static str> {
    super::FAMILIES.into_iter().flat_map(|family| family.types).copied()
}

fn known() -> String {
    types().collect::<Vec<_>>().join(", ")
}

/// What to add to a config.
fn line_of(model_type: &str) -> String {
    format!("\"model_type\": \"{model_type}\"")
}

/// A part of weights' names, and the `model_type`s whose weights can have it. Each must be whole between dots.
const MARKS: [(&str, &[&str]); 18] = [
    ("encoder.layer.0.attention.self.query", &["bert", "electra", "roberta", "xlm-roberta", "camembert"]),
    ("transformer.layer.0.attention.q_lin", &["distilbert"]),
    ("encoder.albert_layer_groups", &["albert"]),
    ("encoder.layer.0.attention.attn.q", &["mpnet"]),
    ("encoder.layer.0.attention.self.query_proj", &["deberta-v2"]),
    ("embeddings.tok_embeddings", &["modernbert"]),
    ("bert", &["bert"]),
    ("roberta", &KIN),
    ("xlm_roberta", &["xlm-roberta"]),
    ("camembert", &["camembert"]),
    ("electra", &["electra"]),
    ("cls.predictions", &["bert", "deberta-v2"]),
    ("cls.seq_relationship", &["bert"]),
    ("lm_head.layer_norm", &["roberta", "xlm-roberta", "camembert", "mpnet"]),
    ("classifier.out_proj", &["electra", "roberta", "xlm-roberta", "camembert", "mpnet"]),
    ("embeddings_project", &["electra"]),
    ("discriminator_predictions", &["electra"]),
    ("generator_predictions", &["electra"]),
];

/// The `model_type` that a folder's weights and tokenizer speak for.
///
/// # Errors
/// A sentence with the line to add, where they speak for none, or for two that compute otherwise.
pub fn found<'a>(
    stored: &Stored,
    folder: &Path,
    names: impl Iterator<Item = &'a String>,
) -> Result<(String, FamilyBy), String> {
    let dotted: Vec<String> = names.map(|name| format!(".{name}.")).collect();
    let marks: Vec<&(&str, &[&str])> =
        (MARKS.iter()).filter(|(part, _)| dotted.iter().any(|name| name.contains(&format!(".{part}.")))).collect();
    let fits = |name: &&str| marks.iter().all(|(_, of)| of.contains(name));
    let left: Vec<&str> = types().filter(fits).collect();
    let parts = marks.iter().map(|(part, _)| *part).collect::<Vec<_>>().join(", ");
    if marks.is_empty() || left.is_empty() {
        return Err(format!(
            "it has no model_type and no architectures, and the names of its weights are those of no family that is \
             known ({}): add the line of the one that it computes as, such as {}",
            known(),
            line_of("bert")
        ));
    }
    let clues = Clues::of(stored, folder)?;
    let says = |model_type: &str| (model_type.to_owned(), FamilyBy::Evidence(format!("its weights ({parts})")));
    if left.iter().all(|name| !KIN.contains(name)) {
        // An ELECTRA without anything of its own computes as a BERT.
        let first = left[0];
        return if first == "bert" && clues.outnumbered() { Err(clues.unclear(&parts)) } else { Ok(says(first)) };
    }
    if left.iter().all(|name| KIN.contains(name)) {
        return match clues.bert.len() > clues.roberta.len() {
            true => Err(clues.unclear(&parts)),
            false => Ok(says(kin(&left, stored, folder)?)),
        };
    }
    // The names fit both. Defaults that both have are not enough: what tells token numbers must be among the signs.
    match clues.clear() {
        Some(true) => Ok(("bert".into(), clues.by(&clues.bert))),
        Some(false) => Ok((kin(&left, stored, folder)?.into(), clues.by(&clues.roberta))),
        None => Err(clues.unclear(&parts)),
    }
}

/// Which of RoBERTa's kin it is: their numbers are the same, but two of them read SentencePiece files otherwise.
fn kin(left: &[&'static str], stored: &Stored, folder: &Path) -> Result<&'static str, String> {
    let left: Vec<&'static str> = left.iter().copied().filter(|name| KIN.contains(name)).collect();
    let class = tokenizer_setting(folder, "tokenizer_class").or(stored.text("tokenizer_class", "").ok());
    let by_class = class.as_deref().and_then(|class| {
        let class = class.to_lowercase();
        ["xlm-roberta", "camembert", "roberta"].into_iter().find(|name| class.starts_with(&name.replace('-', "")))
    });
    let needed = folder.join("sentencepiece.bpe.model").is_file() && !folder.join("tokenizer.json").is_file();
    match by_class.filter(|name| left.contains(name)) {
        Some(name) => Ok(name),
        None if left.len() > 1 && needed => Err(format!(
            "it has no model_type and no architectures; its weights are those of a RoBERTa, and its tokenizer's file is \
             read otherwise by XLM-RoBERTa and CamemBERT: add {} or {}",
            line_of("xlm-roberta"),
            line_of("camembert")
        )),
        None => Ok(left[0]),
    }
}

/// What speaks for BERT, and what for RoBERTa, where the names of weights fit both.
#[derive(Debug, Default)]
struct Clues {
    bert: Vec<String>,
    roberta: Vec<String>,
    /// One of them tells how tokens are numbered.
    tells_tokens: bool,
}

impl Clues {
    fn of(stored: &Stored, folder: &Path) -> Result<Self, String> {
        let mut clues = Self::default();
        for (marker, file) in markers(folder) {
            let side = if marker == "[CLS]" { &mut clues.bert } else { &mut clues.roberta };
            side.push(format!("{marker} in {file}"));
            clues.tells_tokens = true;
        }
        match stored.signed("pad_token_id", -1)? {
            0 => clues.bert.push("pad_token_id 0".into()),
            1 => clues.roberta.push("pad_token_id 1".into()),
            _ => {}
        }
        clues.tells_tokens |= clues.bert.iter().chain(&clues.roberta).any(|clue| clue.starts_with("pad_token_id"));
        match stored.number("type_vocab_size", 0)? {
            2 => clues.bert.push("type_vocab_size 2".into()),
            1 => clues.roberta.push("type_vocab_size 1".into()),
            _ => {}
        }
        // Two rows of RoBERTa's table are not for tokens: 514 of them for 512.
        match stored.number("max_position_embeddings", 0)? {
            0 => {}
            rows if rows % 8 == 0 => clues.bert.push(format!("max_position_embeddings {rows}")),
            rows if rows % 8 == 2 => clues.roberta.push(format!("max_position_embeddings {rows}")),
            _ => {}
        }
        Ok(clues)
    }

    /// Whether it is a BERT, where all signs agree and there are enough of them.
    fn clear(&self) -> Option<bool> {
        let enough = self.tells_tokens && self.bert.len() + self.roberta.len() >= 2;
        match (self.bert.is_empty(), self.roberta.is_empty()) {
            (false, true) if enough => Some(true),
            (true, false) if enough => Some(false),
            _ => None,
        }
    }

    /// More speaks against BERT than for it.
    fn outnumbered(&self) -> bool {
        self.roberta.len() > self.bert.len()
    }

    fn by(&self, signs: &[String]) -> FamilyBy {
        FamilyBy::Evidence(signs.join(", "))
    }

    fn unclear(&self, parts: &str) -> String {
        let side = |signs: &[String]| if signs.is_empty() { "nothing".to_owned() } else { signs.join(", ") };
        format!(
            "it has no model_type and no architectures, and its weights ({parts}) may be those of a BERT ({} speaks for \
             it) or of a RoBERTa ({} speaks for it), which count positions otherwise: add {} or {}",
            side(&self.bert),
            side(&self.roberta),
            line_of("bert"),
            line_of("roberta")
        )
    }
}

/// Which of `[CLS]` and `<s>` a folder's tokenizer begins a text with, and the file that says so.
fn markers(folder: &Path) -> Vec<(&'static str, &'static str)> {
    let named = tokenizer_setting(folder, "cls_token");
    let class = tokenizer_setting(folder, "tokenizer_class").unwrap_or_default();
    if let Some(marker) = ["[CLS]", "<s>"].into_iter().find(|marker| named.as_deref() == Some(marker)) {
        return vec![(marker, "the tokenizer's settings")];
    }
    if class.starts_with("Bert") || class.starts_with("Electra") {
        return vec![("[CLS]", "the tokenizer's settings")];
    }
    if ["Roberta", "XLMRoberta", "Camembert"].iter().any(|name| class.starts_with(name)) {
        return vec![("<s>", "the tokenizer's settings")];
    }
    if folder.join("sentencepiece.bpe.model").is_file() {
        return vec![("<s>", "sentencepiece.bpe.model")];
    }
    for file in ["tokenizer.json", "vocab.txt", "vocab.json"] {
        let text = beginning(&folder.join(file));
        let has = |word: &str| match file {
            "vocab.txt" => text.lines().any(|line| line.trim() == word),
            _ => text.contains(&format!("\"{word}\"")),
        };
        match (has("[CLS]"), has("<s>")) {
            (true, false) => return vec![("[CLS]", file)],
            (false, true) => return vec![("<s>", file)],
            _ => {}
        }
    }
    Vec::new()
}

/// A text of `tokenizer_config.json` or `special_tokens_map.json`, also where it stands inside an object.
fn tokenizer_setting(folder: &Path, key: &str) -> Option<String> {
    ["tokenizer_config.json", "special_tokens_map.json"].iter().find_map(|file| {
        let settings: serde_json::Value = serde_json::from_str(&beginning(&folder.join(file))).ok()?;
        let value = settings.get(key)?;
        value.as_str().or_else(|| value.get("content")?.as_str()).map(str::to_owned)
    })
}

/// What a file holds; of a very large one, its beginning; nothing of one that cannot be read.
fn beginning(path: &Path) -> String {
    const MOST: u64 = 64 << 20;
    let mut bytes = Vec::new();
    if let Ok(file) = std::fs::File::open(path) {
        file.take(MOST).read_to_end(&mut bytes).ok();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

impl FamilyBy {
    /// What is to be told of it; nothing where the config names the family.
    pub fn remark(&self, family: &str) -> Option<String> {
        let by = match self {
            Self::Name => return None,
            Self::Architecture(class) => format!("its architectures name {class}"),
            Self::Evidence(signs) => format!("that is what speaks from {signs}"),
        };
        Some(format!("it has no model_type, and is read as {family}: {by}"))
    }

    /// Refuses a model whose family was found by its weights, where the encoder holds tensors that the family does not
    /// have: it would be another one, which computes more.
    pub fn check(&self, family: &str, unused: &[String]) -> Result<(), String> {
        let inside = |name: &&String| [".layer.", ".layers.", "embeddings."].iter().any(|part| name.contains(part));
        match unused.iter().find(inside) {
            Some(name) if matches!(self, Self::Evidence(_)) => Err(format!(
                "it has no model_type and no architectures, and its weights are like those of {family} but for {name}, \
                 which that family does not have: add the model_type, if it is one of {}",
                known()
            )),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::Family;
    use super::*;

    #[test]
    fn classes_are_told_apart_by_their_whole_names() {
        for (class, wanted) in [
            ("BertModel", Some("bert")),
            ("BertLMHeadModel", Some("bert")),
            ("TFRobertaForMaskedLM", Some("roberta")),
            ("XLMRobertaForTokenClassification", Some("xlm-roberta")),
            ("CamembertForMaskedLM", Some("camembert")),
            ("FlaxDistilBertModel", Some("distilbert")),
            ("ElectraForPreTraining", Some("electra")),
            ("AlbertModel", Some("albert")),
            ("MPNetModel", Some("mpnet")),
            ("DebertaV2Model", Some("deberta-v2")),
            ("ModernBertForMaskedLM", Some("modernbert")),
            // They compute otherwise, though their names begin alike.
            ("RobertaPreLayerNormModel", None),
            ("XLMRobertaXLModel", None),
            ("BertGenerationEncoder", None),
            ("DebertaModel", None),
            ("MobileBertModel", None),
            ("ModernBertDecoderForCausalLM", None),
            ("", None),
        ] {
            assert_eq!(of_class(class), wanted, "{class}");
        }
    }

    #[test]
    fn every_mark_is_of_families_that_are_there() {
        let types: BTreeSet<&str> = types().collect();
        for (part, of) in MARKS {
            assert!(of.iter().all(|name| types.contains(name)), "{part}");
        }
        assert!(types.iter().all(|name| Family::of(name).is_ok() && MARKS.iter().any(|(_, of)| of.contains(name))));
    }
}
