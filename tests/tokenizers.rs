//! The tokenizer that a folder describes is that of `transformers`: `tests/golden/make_tokenizers.py` lays files over
//! small tokenizers and keeps what `transformers` made of texts.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

mod support;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use headlight::model::Model;
use headlight::run::{Limit, Role, Texts};
use headlight::text::TextEncoder;
use serde::Deserialize;

/// Files laid over a tokenizer, and what another program made of texts with it.
#[derive(Deserialize)]
struct Case {
    name: String,
    group: String,
    base: String,
    files: BTreeMap<String, Content>,
    texts: Vec<Reference>,
    #[serde(default)]
    mask: Option<u32>,
    /// Why the other program refused it.
    #[serde(default)]
    refused: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Bytes { base64: String },
}

#[derive(Deserialize)]
struct Reference {
    a: String,
    b: Option<String>,
    ids: Vec<u32>,
}

fn cases(group: &str) -> Vec<Case> {
    let path = support::clone_root().join("tests/golden/tokenizers.json");
    let all: Vec<Case> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let of_group: Vec<Case> = all.into_iter().filter(|case| case.group == group).collect();
    assert!(!of_group.is_empty(), "{group}");
    of_group
}

fn folder(base: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    if base == "bert" {
        std::fs::copy(support::tiny_model().join("vocab.txt"), folder.path().join("vocab.txt")).unwrap();
        std::fs::write(folder.path().join("config.json"), r#"{"model_type": "bert"}"#).unwrap();
        return folder;
    }
    for file in std::fs::read_dir(support::clone_root().join("tests/golden/text").join(base)).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
    }
    if base == "byte-level" {
        std::fs::write(folder.path().join("config.json"), r#"{"model_type": "roberta"}"#).unwrap();
    }
    folder
}

fn open(case: &Case) -> Result<TextEncoder, String> {
    let folder = folder(&case.base);
    for (name, content) in &case.files {
        let bytes = match content {
            Content::Text(text) => text.clone().into_bytes(),
            Content::Bytes { base64 } => base64::engine::general_purpose::STANDARD.decode(base64).unwrap(),
        };
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    TextEncoder::from_folder(folder.path()).map_err(|error| error.to_string())
}

fn ids(encoder: &TextEncoder, texts: Texts) -> Vec<u32> {
    let input = encoder.encode(&Arc::new(texts), 512, Limit::Positions).unwrap();
    input.tokens.iter().map(|token| token.id).collect()
}

/// All cases of a group, and every one that differs.
fn walk(group: &str) {
    let mut faults = Vec::new();
    for case in cases(group) {
        let encoder = match (open(&case), &case.refused) {
            (Err(_), Some(_)) => continue,
            (Err(error), None) => {
                faults.push(format!("{} “{}”: {error}", case.base, case.name));
                continue;
            }
            (Ok(_), Some(why)) => {
                faults.push(format!("{} “{}” opens, but {why}", case.base, case.name));
                continue;
            }
            (Ok(encoder), None) => encoder,
        };
        for Reference { a, b, ids: wanted } in case.texts {
            let found = ids(&encoder, Texts { a: a.clone(), b });
            if found != wanted {
                faults.push(format!("{} “{}”, {a:?}: {found:?} and not {wanted:?}", case.base, case.name));
            }
        }
        let mask = encoder.mask().map(|(id, _)| id);
        if mask != case.mask {
            faults.push(format!("{} “{}”: the mask is {mask:?} and not {:?}", case.base, case.name, case.mask));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn tokens_that_files_name_beside_the_words_are_those_of_transformers() {
    walk("added");
}

#[test]
fn a_file_of_words_is_read_line_by_line_as_transformers_reads_it() {
    walk("lines");
    let why = |name: &str| open(cases("lines").iter().find(|case| case.name == name).unwrap()).unwrap_err();
    assert!(why("byte-order mark before the unknown piece").contains("byte-order mark"));
}

#[test]
fn tokens_that_files_name_beside_pieces_are_those_of_transformers() {
    walk("pieces");
}

#[test]
fn tokens_and_settings_beside_a_whole_tokenizer_are_those_of_transformers() {
    walk("whole");
}

#[test]
fn a_file_of_words_is_read_by_the_class_that_the_folder_names() {
    walk("class");
    for (name, text, class) in [
        ("tokenizer_config.json", r#"{"tokenizer_class": "BertJapaneseTokenizer"}"#, "BertJapaneseTokenizer is named"),
        ("tokenizer_config.json", r#"{"tokenizer_class": "PhobertTokenizer"}"#, "PhobertTokenizer is named"),
        ("tokenizer_config.json", r#"{"tokenizer_class": "XLMRobertaTokenizerFast"}"#, "XLMRobertaTokenizer is named"),
        ("config.json", r#"{"model_type": "roberta"}"#, "RobertaTokenizer is the class of this model's family"),
        ("config.json", r#"{"model_type": "bert", "tokenizer_class": "FunnelTokenizer"}"#, "FunnelTokenizer is named"),
    ] {
        let folder = folder("bert");
        std::fs::write(folder.path().join(name), text).unwrap();
        let error = TextEncoder::from_folder(folder.path()).unwrap_err().to_string();
        assert!(error.contains(class) && error.contains("\"tokenizer_class\": \"BertTokenizer\""), "{error}");
    }
}

/// A copy of the small BERT, with files written over it.
fn model(files: &[(&str, String)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(support::tiny_model()).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
    }
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn words() -> String {
    std::fs::read_to_string(support::tiny_model().join("vocab.txt")).unwrap()
}

fn run(folder: &Path, text: &str) -> Result<usize, String> {
    let model = Model::open(folder).map_err(|error| error.to_string())?;
    model.tokenize(&support::single(text)).map(|input| input.tokens.len()).map_err(|error| error.to_string())
}

#[test]
fn a_word_that_the_model_has_no_vector_for_is_refused_where_it_is_typed() {
    let folder = model(&[("added_tokens.json", r#"{"[E1]": 49}"#.into())]);
    assert_eq!(run(folder.path(), "the cat"), Ok(4));
    let refused = run(folder.path(), "the [E1] cat").unwrap_err();
    assert!(refused.contains("number 49") && refused.contains("0 to 48"), "{refused}");
    // Every text begins with this one.
    let folder = model(&[("tokenizer_config.json", r#"{"cls_token": "<C>"}"#.into())]);
    let refused = run(folder.path(), "the cat").unwrap_err();
    assert!(refused.contains("50 pieces") && refused.contains("vectors for 49"), "{refused}");
}

#[test]
fn a_blank_line_and_a_byte_order_mark_do_not_keep_a_model_shut() {
    for vocabulary in
        [words() + "\n", words() + "\n\n", format!("\u{feff}{}", words()), words().replace("[MASK]", "xx")]
    {
        let folder = model(&[("vocab.txt", vocabulary)]);
        assert_eq!(run(folder.path(), "the cat"), Ok(4));
    }
    // The mask would be behind the last vector.
    let folder = model(&[("vocab.txt", words().replace("[MASK]", "xx"))]);
    assert!(Model::open(folder.path()).unwrap().info().mask.is_none());
}

#[test]
fn a_mask_of_another_name_is_the_mask() {
    let folder = model(&[(
        "special_tokens_map.json",
        r#"{"mask_token": "d", "additional_special_tokens": [{"content": "cat", "lstrip": false}]}"#.into(),
    )]);
    let model = Model::open(folder.path()).unwrap();
    let mut input = model.tokenize(&support::single("the cat d")).unwrap();
    let roles: Vec<Role> = input.tokens.iter().map(|token| token.role).collect();
    assert_eq!(roles, [Role::Special, Role::Word, Role::Special, Role::Word, Role::Special]);
    model.mask(&mut input, &[1]).unwrap();
    assert_eq!((input.tokens[1].id, input.tokens[1].piece.as_str()), (8, "d"));
}

#[test]
fn a_file_of_tokens_that_is_none_says_so() {
    for (name, text, wanted) in [
        ("added_tokens.json", r#"{"[E1]": "x"}"#, "“[E1]” is not a number"),
        ("added_tokens.json", r#"{"[E1]": -1}"#, "“[E1]” is not a number"),
        ("added_tokens.json", "[]", "added_tokens.json is not a tokenizer"),
        ("special_tokens_map.json", r#"{"cls_token": 7}"#, "“cls_token” is not a token"),
        ("special_tokens_map.json", r#"{"additional_special_tokens": "x"}"#, "is not a list of tokens"),
        ("special_tokens_map.json", "{", "special_tokens_map.json is not a tokenizer"),
        ("tokenizer_config.json", r#"{"added_tokens_decoder": {"x": {"content": "a"}}}"#, "a number for each token"),
        ("tokenizer_config.json", r#"{"added_tokens_decoder": {"1": {}}}"#, "is not a token"),
        ("tokenizer_config.json", r#"{"sep_token": null}"#, "there is no sep_token"),
    ] {
        let folder = folder("bert");
        std::fs::write(folder.path().join(name), text).unwrap();
        let error = TextEncoder::from_folder(folder.path()).unwrap_err().to_string();
        assert!(error.contains(wanted) && error.lines().count() == 1, "{name} {text}: {error}");
    }
}
