//! A sentence model's own recipe: the vectors of `sentence-transformers`, or a sentence that says why there are none.
//! `tests/golden/make_sentence.py` made the references.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use headlight::engine::Experiment;
use headlight::lab::Nearest;
use headlight::model::Model;
use serde::Deserialize;
use serde_json::{Value, json};
use support::{clone_root, tiny_model};

#[derive(Deserialize)]
struct Case {
    name: String,
    files: BTreeMap<String, Value>,
    copies: BTreeMap<String, String>,
    encoder: String,
    texts: Vec<String>,
    vectors: Vec<Vec<f32>>,
}

fn golden() -> PathBuf {
    clone_root().join("tests/golden/sentence")
}

fn cases() -> Vec<Case> {
    serde_json::from_slice(&fs::read(golden().join("cases.json")).unwrap()).unwrap()
}

fn case(name: &str) -> Case {
    cases().into_iter().find(|case| case.name == name).unwrap()
}

fn write(path: &Path, content: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

impl Case {
    fn lay_out(&self) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in fs::read_dir(tiny_model()).unwrap().flatten() {
            let content = fs::read(file.path()).unwrap();
            write(&folder.path().join(&self.encoder).join(file.file_name()), &content);
        }
        for (path, content) in &self.files {
            write(&folder.path().join(path), content.to_string().as_bytes());
        }
        for (path, source) in &self.copies {
            write(&folder.path().join(path), &fs::read(golden().join(source)).unwrap());
        }
        folder
    }
}

/// Which cases differ from the library, and how.
fn differences(wanted: impl Fn(&Case) -> bool) -> Vec<String> {
    let mut wrong = Vec::new();
    for case in cases().iter().filter(|case| wanted(case)) {
        let folder = case.lay_out();
        let model = match Model::open(folder.path()) {
            Ok(model) => model,
            Err(error) => {
                wrong.push(format!("{}: {error}", case.name));
                continue;
            }
        };
        for (text, reference) in case.texts.iter().zip(&case.vectors) {
            let run = model.run(model.tokenize(&support::single(text)).unwrap(), &mut ()).unwrap();
            let Some(found) = run.embedding else {
                wrong.push(format!("{}: {}", case.name, model.info().pooling.describe()));
                continue;
            };
            let same = found.values.len() == reference.len()
                && found.values.iter().zip(reference).all(|(a, b)| (a - b).abs() <= 1e-5 * b.abs().max(1.0));
            if !same || !model.info().pooling.declared {
                wrong.push(format!("{}: {} and not {reference:?}", case.name, found.values));
            }
        }
    }
    wrong
}

fn needs_layout(case: &Case) -> bool {
    !case.encoder.is_empty()
}

fn needs_settings(case: &Case) -> bool {
    case.name.contains("max_seq_length") || case.name == "do_lower_case"
}

#[test]
fn every_recipe_gives_the_vectors_of_sentence_transformers() {
    let wrong = differences(|case| !needs_layout(case) && !needs_settings(case));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_recipe_is_told_in_its_order() {
    let told = |name: &str| Model::open(case(name).lay_out().path()).unwrap().info().pooling.describe();
    assert_eq!(
        told("dense"),
        "the mean over tokens, a dense layer from 24 to 6 numbers and Tanh, scaled to length 1 (declared by the model)"
    );
    assert_eq!(told("joined, newer"), "the mean over tokens and the first token, end to end (declared by the model)");
    assert!(told("cls without the prompt").starts_with("the first token, without the tokens of a prompt"));
}

/// A recipe with something that cannot be followed, and what the sentence is to name.
fn unknown() -> Vec<(Case, &'static str)> {
    let changed = |name: &str, path: &str, key: &str, value: Value| {
        let mut case = case(name);
        case.files.get_mut(path).unwrap()[key] = value;
        case
    };
    let module = |name: &str, place: usize, key: &str, value: &str| {
        let mut case = case(name);
        case.files.get_mut("modules.json").unwrap()[place][key] = value.into();
        case
    };
    let mut without = case("dense");
    without.copies.clear();
    let mut none = case("dense");
    none.files.insert("modules.json".into(), json!([]));
    let (pooling, dense) = ("1_Pooling/config.json", "2_Dense/config.json");
    vec![
        (changed("cls, newer", pooling, "pooling_mode", "median".into()), "median"),
        (changed("cls, newer", pooling, "pooling_mode", "cls+mean".into()), "cls+mean"),
        (changed("cls, newer", pooling, "pooling_mode", json!(["cls", "last"])), "last"),
        (changed("cls, newer", pooling, "pooling_mode", json!([])), "[]"),
        (changed("cls, newer", pooling, "pooling_mode", Value::Null), "null"),
        (changed("cls, older", pooling, "pooling_mode_of_next_year", true.into()), "pooling_mode_of_next_year"),
        (module("dense", 2, "type", "sentence_transformers.models.LSTM"), "sentence_transformers.models.LSTM"),
        (module("dense", 2, "type", "my_module.Dense"), "my_module.Dense"),
        (module("dense", 2, "path", "../2_Dense"), "../2_Dense"),
        (module("dense", 1, "path", "elsewhere"), "elsewhere"),
        (changed("dense", dense, "activation_function", "my.Swirl".into()), "my.Swirl"),
        (changed("dense", dense, "activation_function", "torch.nn.modules.activation.PReLU".into()), "PReLU"),
        (changed("dense", dense, "in_features", 25.into()), "25"),
        (changed("dense", dense, "out_features", 7.into()), "linear.weight"),
        (changed("dense", dense, "bias", false.into()), "linear.bias"),
        (changed("dense", dense, "module_input_name", "all_layer_embeddings".into()), "all_layer_embeddings"),
        (without, "2_Dense"),
        (none, "Pooling"),
    ]
}

#[test]
fn what_cannot_be_followed_is_named_and_the_maps_stay() {
    let plain = Model::open(&tiny_model()).unwrap();
    let text = support::single("the cat sat");
    let maps = plain.run(plain.tokenize(&text).unwrap(), &mut ()).unwrap().attention;
    for (case, named) in unknown() {
        let folder = case.lay_out();
        let model = Model::open(folder.path()).unwrap();
        let run = model.run(model.tokenize(&text).unwrap(), &mut ()).unwrap();
        assert!(run.embedding.is_none(), "{named}");
        assert!(run.attention.iter().eq(maps.iter()), "{named}");
        let told = model.info().pooling.describe();
        assert!(told.starts_with("none: ") && told.contains(named), "{named}: {told}");
        let mut experiment =
            Nearest { query: "a".into(), sentences: std::sync::Arc::new(vec!["b".into()]), edits: Vec::new() };
        let refused = experiment.run(&model, &mut |_| Ok(())).unwrap_err().to_string();
        assert!(refused.contains("no sentence vector") && refused.contains(named), "{refused}");
    }
}
