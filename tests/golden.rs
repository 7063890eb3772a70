//! The same numbers as Hugging Face `transformers`, within the tolerances that the documentation promises.
//! `tests/golden/make.py` made the references.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

mod support;

use std::collections::HashMap;
use std::sync::Arc;

use headlight::model::Model;
use headlight::run::{Input, Run, Task, Texts};
use safetensors::SafeTensors;
use support::clone_root;

const STRIDE: usize = 997;

struct Reference {
    bytes: Vec<u8>,
}

impl Reference {
    fn open(name: &str) -> Self {
        let path = clone_root().join("tests/golden").join(name);
        Self { bytes: std::fs::read(path).unwrap() }
    }

    fn tensors(&self) -> SafeTensors<'_> {
        SafeTensors::deserialize(&self.bytes).unwrap()
    }

    fn floats(&self, name: &str) -> Option<Vec<f32>> {
        let tensors = self.tensors();
        let tensor = tensors.tensor(name).ok()?;
        Some(tensor.data().chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect())
    }

    fn ids(&self, name: &str) -> Vec<u32> {
        let tensors = self.tensors();
        let data = tensors.tensor(name).unwrap().data();
        data.chunks_exact(8).map(|eight| i64::from_le_bytes(eight.try_into().unwrap()) as u32).collect()
    }

    fn texts(&self) -> HashMap<String, (String, Option<String>)> {
        let (_, metadata) = SafeTensors::read_metadata(&self.bytes).unwrap();
        let text = metadata.metadata().as_ref().unwrap()["texts"].clone();
        serde_json::from_str(&text).unwrap()
    }
}

/// The greatest difference, relative to `max(1, max |reference|)` where `relative`.
fn difference(ours: &[f32], reference: &[f32], relative: bool) -> f32 {
    assert_eq!(ours.len(), reference.len());
    let scale = if relative { reference.iter().fold(1.0, |most: f32, value| most.max(value.abs())) } else { 1.0 };
    ours.iter().zip(reference).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max) / scale
}

fn check(reference: &Reference, case: &str, run: &Run) {
    let ids: Vec<u32> = run.input.tokens.iter().map(|token| token.id).collect();
    let types: Vec<u32> = run.input.tokens.iter().map(|token| token.type_id).collect();
    assert_eq!(ids, reference.ids(&format!("{case}/input_ids")), "{case}: ids");
    assert_eq!(types, reference.ids(&format!("{case}/token_type_ids")), "{case}: token types");

    let attention: Vec<f32> = run.attention.iter().collect();
    let hidden: Vec<f32> = run.hidden.iter().flat_map(|layer| layer.iter().copied()).collect();
    let compare = |name: &str, ours: &[f32], relative: bool| {
        let whole = reference.floats(&format!("{case}/{name}"));
        let found = match whole {
            Some(whole) => difference(ours, &whole, relative),
            None => {
                let sample: Vec<f32> = ours.iter().copied().step_by(STRIDE).collect();
                difference(&sample, &reference.floats(&format!("{case}/{name}_sample")).unwrap(), relative)
            }
        };
        println!("{case}/{name}: {found:.2e}");
        assert!(found <= 1e-5, "{case}/{name} differs by {found}");
    };
    compare("attention", &attention, false);
    compare("hidden", &hidden, true);
    compare("pooler_output", run.pooler_output.as_ref().unwrap().as_slice().unwrap(), false);
    let embedding = run.embedding.as_ref().unwrap();
    if embedding.pooling.steps.contains(&"scaled to length 1".to_owned()) {
        compare("mean_normalized", embedding.values.as_slice().unwrap(), false);
    }
}

/// Input as numbers, with token types that numbers alone do not carry.
fn input_of_ids(model: &Model, reference: &Reference, before: &str) -> Input {
    let ids = |name: &str| reference.ids(&format!("{before}{name}"));
    support::goldens::input(model, &ids("input_ids"), &ids("token_type_ids"))
}

fn run_ids(model: &Model, reference: &Reference, case: &str) -> Run {
    model.run(input_of_ids(model, reference, &format!("{case}/")), &mut ()).unwrap()
}

#[test]
fn a_tiny_random_bert_gives_the_numbers_of_transformers() {
    let model = Model::open(&support::tiny_model()).unwrap();
    let reference = Reference::open("tiny-bert.safetensors");
    for case in ["single", "pair", "one", "full"] {
        check(&reference, case, &run_ids(&model, &reference, case));
    }
}

#[test]
fn task_heads_give_the_logits_of_transformers() {
    let tasks = [
        ("pretraining", vec!["masked-lm", "next-sentence"]),
        ("masked-lm-untied", vec!["masked-lm"]),
        ("sequence", vec!["sequence-classification"]),
        ("regression", vec!["sequence-classification"]),
        ("token", vec!["token-classification"]),
        ("question", vec!["question-answering"]),
    ];
    for (name, wanted) in tasks {
        let model = Model::open(&support::task_model(name)).unwrap();
        let reference = Reference::open(&format!("tasks/{name}/reference.safetensors"));
        let found: Vec<&str> = model.info().tasks.iter().map(|info| info.task.word()).collect();
        assert_eq!(found, wanted, "{name}");
        let run = model.run(input_of_ids(&model, &reference, ""), &mut ()).unwrap();
        let attention: Vec<f32> = run.attention.iter().collect();
        assert!(difference(&attention, &reference.floats("attention").unwrap(), false) <= 1e-5, "{name}");
        let mut whole = run.clone();
        model.answer_everywhere(&mut whole).unwrap();
        for (number, output) in whole.outputs.iter().enumerate() {
            let key = if number == 0 { "logits".to_owned() } else { format!("logits_{}", output.task.word()) };
            let logits: Vec<f32> = output.logits.iter().copied().collect();
            let found = difference(&logits, &reference.floats(&key).unwrap(), false);
            println!("{name}/{key}: {found:.2e}");
            assert!(found <= 1e-5, "{name}/{key} differs by {found}");
        }
        // A masked language model answers for its one [MASK] alone until it is asked for more.
        if let Some(output) = run.output(Task::MaskedLm) {
            assert_eq!(output.tokens, [2]);
            let row = whole.outputs[0].logits.row(2).to_owned();
            assert!(output.logits.row(0).iter().zip(&row).all(|(a, b)| (a - b).abs() < 1e-5));
        }
    }
}

#[test]
fn the_default_model_gives_the_numbers_of_transformers() {
    let Some(folder) = support::default_model() else { return };
    let model = Model::open(&folder).unwrap();
    let reference = Reference::open("minilm.safetensors");
    let texts = reference.texts();
    assert_eq!(texts.len(), 5);
    for (case, (a, b)) in texts {
        let input = model.tokenize(&Arc::new(Texts { a, b })).unwrap();
        check(&reference, &case, &model.run(input, &mut ()).unwrap());
    }
    check(&reference, "one_token", &run_ids(&model, &reference, "one_token"));
}

#[test]
fn the_multilingual_model_brings_a_question_near_to_its_answer() {
    let Ok(folder) = headlight::model::find_model(Some("multilingual-e5-small".as_ref())) else {
        eprintln!("skipped: `cargo xtask model multilingual-e5-small` fetches the model");
        return;
    };
    let model = Model::open(&folder).unwrap();
    assert_eq!((model.info().layers, model.info().heads), (12, 12));
    assert!(model.info().note.as_deref().is_some_and(|note| note.contains("4-bit")));
    let vector = |text: &str| {
        let run = model.run(model.tokenize(&support::single(text)).unwrap(), &mut ()).unwrap();
        assert!(run.notices().is_empty(), "{:?}", run.notices());
        run.embedding.unwrap().values
    };
    let question = vector("query: 猫为什么喜欢睡觉？");
    let near = |text: &str| headlight::metrics::cosine(question.view(), vector(text).view());
    let answer = near("passage: 猫每天要睡十几个小时，因为它们是捕食者，需要保存体力。");
    for other in [
        "passage: 股票市场今天下跌了百分之三。",
        "passage: The ferry stayed in port.",
        "passage: 今天 the weather 很好。",
    ] {
        assert!(answer > near(other) + 0.05, "{other}: {} {answer}", near(other));
    }
    assert!(near("passage: Cats sleep a lot to save energy.") > near("passage: The stock market fell today."));
}
