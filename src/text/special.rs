//! The special and added tokens that a folder names beside its vocabulary, in the precedence of `transformers`:
//! `added_tokens_decoder` of `tokenizer_config.json` before all; where that is missing, `special_tokens_map.json` before
//! `tokenizer_config.json`, and `added_tokens.json` beside both.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use tokenizers::{AddedToken, Tokenizer};

use super::TextError;
use super::guard::guarded;
use super::vocab::settings;

/// The parts that special tokens play, in the order in which those that a vocabulary lacks are put behind it.
const PARTS: [&str; 7] = ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];

/// What a kind of tokenizer calls its special tokens where its folder does not say.
pub(super) type Usual<'a> = [(&'a str, AddedToken)];

/// RoBERTa's names, and `unknown` for what its vocabulary lacks.
pub(super) fn like_roberta(unknown: &str) -> Vec<(&'static str, AddedToken)> {
    let token = |piece: &str| AddedToken::from(piece, true);
    vec![
        ("bos_token", token("<s>")),
        ("eos_token", token("</s>")),
        ("unk_token", token(unknown)),
        ("sep_token", token("</s>")),
        ("pad_token", token("<pad>")),
        ("cls_token", token("<s>")),
        // The mask takes the blank before it.
        ("mask_token", token("<mask>").lstrip(true)),
    ]
}

/// The tokens that a folder's files name.
#[derive(Debug, Default, Clone)]
pub(super) struct Named {
    /// By part; `None` where a file says that there is no such token.
    parts: BTreeMap<&'static str, Option<AddedToken>>,
    /// Tokens with parts of their own, such as `image_token`.
    own: Vec<AddedToken>,
    extra: Vec<AddedToken>,
    /// The map's older list.
    of_map: Vec<AddedToken>,
    /// Whether `added` is of `added_tokens.json`, which a `tokenizer.json` knows better.
    older: bool,
    /// By the number that a file gives them, which tells their order alone.
    added: BTreeMap<u32, AddedToken>,
}

impl Named {
    pub(super) fn read(folder: &Path) -> Result<Self, TextError> {
        let config_file = File { path: folder.join("tokenizer_config.json") };
        let config: Map<String, Value> = settings(&config_file.path)?;
        let mut named = Self::default();
        let mut additional = None;
        let mut extra = None;
        config_file.take(&config, &mut named, &mut additional, &mut extra)?;
        if let Some(decoder) = config.get("added_tokens_decoder").filter(|decoder| !decoder.is_null()) {
            for (id, token) in config_file.table("added_tokens_decoder", decoder)? {
                let id =
                    id.parse().map_err(|_| config_file.wrong("added_tokens_decoder", "a number for each token"))?;
                named.added.insert(id, config_file.token("added_tokens_decoder", token, false)?);
            }
        } else {
            named.older = true;
            let map_file = File { path: folder.join("special_tokens_map.json") };
            let map: Map<String, Value> = settings(&map_file.path)?;
            let (mut map_additional, mut map_extra) = (None, None);
            map_file.take(&map, &mut named, &mut map_additional, &mut map_extra)?;
            // The extra ones of both files count together; of the older lists, the settings' own hides the map's.
            extra = match (extra.filter(|list: &Vec<AddedToken>| !list.is_empty()).or(additional.take()), map_extra) {
                (Some(own), Some(map)) => Some([own, map].concat()),
                (own, map) => own.or(map),
            };
            let special: HashSet<&str> = named
                .parts
                .values()
                .flatten()
                .chain(extra.iter().flatten())
                .map(|token| token.content.as_str())
                .collect();
            let list_file = File { path: folder.join("added_tokens.json") };
            let list: Map<String, Value> = settings(&list_file.path)?;
            for (content, id) in &list {
                let id = id.as_u64().and_then(|id| u32::try_from(id).ok());
                let id = id.ok_or_else(|| list_file.wrong(content, "a number"))?;
                named.added.insert(id, AddedToken::from(content.as_str(), special.contains(content.as_str())));
            }
            named.of_map = map_additional.filter(|_| extra.is_none()).unwrap_or_default();
        }
        named.extra = extra.filter(|list| !list.is_empty()).or(additional).unwrap_or_default();
        Ok(named)
    }

    /// The same without the older list of `special_tokens_map.json`, which `transformers` 5 drops beside SentencePiece.
    pub(super) fn without_list_of_map(&self) -> Self {
        Self { of_map: Vec::new(), ..self.clone() }
    }

    /// The token that plays a part; `usual` where no file says which, `None` where one says that there is none.
    pub(super) fn part<'a>(&'a self, part: &str, usual: &'a Usual<'a>) -> Option<&'a AddedToken> {
        match self.parts.get(part) {
            Some(token) => token.as_ref(),
            None => usual.iter().find(|(own, _)| *own == part).map(|(_, token)| token),
        }
    }

    /// The token that plays a part which a tokenizer cannot do without.
    pub(super) fn needed<'a>(&'a self, part: &str, usual: &'a Usual<'a>) -> Result<&'a str, String> {
        let token = self.part(part, usual).map(|token| token.content.as_str());
        token.ok_or_else(|| format!("the files beside it say that there is no {part}"))
    }

    /// The piece that begins or ends a text, with its number in a tokenizer to which the tokens were made known.
    pub(super) fn end(&self, tokenizer: &Tokenizer, part: &str, usual: &Usual<'_>) -> Result<(String, u32), String> {
        let piece = self.needed(part, usual)?;
        let id = tokenizer.token_to_id(piece).ok_or_else(|| format!("{piece} is missing from the vocabulary"))?;
        Ok((piece.to_owned(), id))
    }

    /// Makes the tokens known to a tokenizer: those that its vocabulary has keep their numbers, others come behind it.
    pub(super) fn add_to(&self, tokenizer: &mut Tokenizer, usual: &Usual<'_>) -> Result<(), String> {
        let parts: Vec<&AddedToken> = PARTS.iter().filter_map(|part| self.part(part, usual)).collect();
        let special: HashSet<&str> =
            parts.iter().chain(&self.own.iter().collect::<Vec<_>>()).map(|token| token.content.as_str()).collect();
        let mut tokens: Vec<AddedToken> = self
            .added
            .values()
            .map(|token| AddedToken {
                special: token.special || special.contains(token.content.as_str()),
                ..token.clone()
            })
            .collect();
        let mut known: HashSet<String> = tokenizer
            .get_added_tokens_decoder()
            .into_values()
            .chain(tokens.iter().cloned())
            .map(|token| token.content)
            .collect();
        for token in parts.into_iter().chain(&self.own).chain(&self.extra).chain(&self.of_map) {
            if known.insert(token.content.clone()) {
                tokens.push(AddedToken { special: true, ..token.clone() });
            }
        }
        guarded(|| tokenizer.add_tokens(tokens)).map(|_| ())
    }

    /// Makes the tokens known to a tokenizer that was read whole: what it knows itself stays as it is.
    pub(super) fn add_to_whole(&self, tokenizer: &mut Tokenizer) -> Result<(), String> {
        let own: HashSet<String> =
            tokenizer.get_added_tokens_decoder().into_values().map(|token| token.content).collect();
        let mut named = self.clone();
        named.added.retain(|_, token| !(self.older && own.contains(&token.content)));
        named.add_to(tokenizer, &[])
    }
}

/// A file that names tokens, for what is wrong in it.
struct File {
    path: PathBuf,
}

impl File {
    /// What a file of settings says of special tokens; what it says counts before what was there.
    fn take(
        &self,
        keys: &Map<String, Value>,
        named: &mut Named,
        additional: &mut Option<Vec<AddedToken>>,
        extra: &mut Option<Vec<AddedToken>>,
    ) -> Result<(), TextError> {
        for (key, value) in keys {
            if let Some(part) = PARTS.iter().find(|part| *part == key) {
                let token = (!value.is_null()).then(|| self.token(key, value, true)).transpose()?;
                named.parts.insert(part, token);
            } else if key == "additional_special_tokens" && !value.is_null() {
                *additional = Some(self.list(key, value)?);
            } else if key.ends_with("_token") && (value.is_string() || value.get("content").is_some()) {
                named.own.push(self.token(key, value, true)?);
            }
        }
        match keys.get("extra_special_tokens") {
            Some(Value::Object(own)) => {
                for (key, value) in own {
                    named.own.push(self.token(key, value, true)?);
                }
            }
            Some(value) if !value.is_null() => *extra = Some(self.list("extra_special_tokens", value)?),
            _ => {}
        }
        Ok(())
    }

    fn list(&self, key: &str, value: &Value) -> Result<Vec<AddedToken>, TextError> {
        let list = value.as_array().ok_or_else(|| self.wrong(key, "a list of tokens"))?;
        list.iter().map(|token| self.token(key, token, true)).collect()
    }

    fn table<'a>(&self, key: &str, value: &'a Value) -> Result<&'a Map<String, Value>, TextError> {
        value.as_object().ok_or_else(|| self.wrong(key, "a table of tokens"))
    }

    /// A token by its text alone, or with what it takes of the text beside it.
    fn token(&self, key: &str, value: &Value, special: bool) -> Result<AddedToken, TextError> {
        if let Some(content) = value.as_str() {
            return Ok(AddedToken::from(content, special));
        }
        let wrong = || self.wrong(key, "a token, as a text or with its “content”");
        let content = value.get("content").and_then(Value::as_str).ok_or_else(wrong)?;
        let flag = |name: &str| value.get(name).and_then(Value::as_bool);
        let mut token = AddedToken::from(content, special || flag("special").unwrap_or(false));
        token.single_word = flag("single_word").unwrap_or(false);
        token.lstrip = flag("lstrip").unwrap_or(false);
        token.rstrip = flag("rstrip").unwrap_or(false);
        token.normalized = flag("normalized").unwrap_or(token.normalized);
        Ok(token)
    }

    fn wrong(&self, key: &str, wanted: &str) -> TextError {
        TextError::Malformed { path: self.path.clone(), cause: format!("“{key}” is not {wanted}") }
    }
}
