//! Every family gives the numbers of `transformers` and takes edits, batches and gradients as BERT does.
//! `tests/golden/make.py` made the references.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

mod support;

use std::path::PathBuf;

use headlight::model::{Batch, Capture, Model, ModelError, PrunedShape, prune};
use headlight::run::{Edit, HeadId, Input, Run};
use safetensors::SafeTensors;
use support::goldens;

fn all() -> Vec<PathBuf> {
    let folder = support::clone_root().join("tests/golden/families");
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()).collect();
    found.sort();
    assert_eq!(found.len(), 18);
    found
}

fn name(folder: &std::path::Path) -> String {
    folder.file_name().unwrap().to_string_lossy().into_owned()
}

fn floats(tensors: &SafeTensors<'_>, name: &str) -> Option<Vec<f32>> {
    let tensor = tensors.tensor(name).ok()?;
    Some(tensor.data().chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect())
}

/// The reference's input.
fn reference_input(model: &Model, folder: &std::path::Path) -> Input {
    let bytes = std::fs::read(folder.join("reference.safetensors")).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    goldens::reference_input(model, &tensors)
}

fn edited(model: &Model, input: &Input, words: &[&str]) -> Run {
    let edits: Vec<Edit> = words.iter().map(|word| word.parse().unwrap()).collect();
    model.run_edited(input.clone(), &edits, &mut ()).unwrap()
}

fn difference<'a>(ours: impl IntoIterator<Item = &'a f32>, reference: &[f32]) -> f32 {
    let ours: Vec<f32> = ours.into_iter().copied().collect();
    assert_eq!(ours.len(), reference.len());
    ours.iter().zip(reference).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

fn last(run: &Run) -> Vec<f32> {
    run.last_hidden_state().unwrap().iter().copied().collect()
}

#[test]
fn attention_hidden_state_and_logits_are_those_of_transformers() {
    let mut worst = Vec::new();
    for folder in all() {
        let (model, name) = (Model::open(&folder).unwrap(), name(&folder));
        let bytes = std::fs::read(folder.join("reference.safetensors")).unwrap();
        let reference = SafeTensors::deserialize(&bytes).unwrap();
        let mut run = model.run(reference_input(&model, &folder), &mut ()).unwrap();
        model.answer_everywhere(&mut run).unwrap();
        let attention: Vec<f32> = run.attention.iter().collect();
        let mut found = vec![
            ("attention", difference(&attention, &floats(&reference, "attention").unwrap())),
            ("hidden", difference(&last(&run), &floats(&reference, "last_hidden_state").unwrap())),
        ];
        assert!(!run.outputs.is_empty(), "{name} has no task head");
        let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
        let parameters = header.metadata().as_ref().unwrap()["parameters"].parse();
        assert_eq!(Ok(model.info().parameters), parameters, "{name}");
        for (number, output) in run.outputs.iter().enumerate() {
            let key = if number == 0 { "logits".to_owned() } else { format!("logits_{}", output.task.word()) };
            found.push(("logits", difference(&output.logits, &floats(&reference, &key).unwrap())));
        }
        if let Some(pooled) = &run.pooler_output {
            found.push(("pooler", difference(pooled, &floats(&reference, "pooler_output").unwrap())));
        }
        let words: Vec<String> = found.iter().map(|(what, far)| format!("{what} {far:.1e}")).collect();
        println!("{name}: {}", words.join(", "));
        worst.extend(found.iter().filter(|(_, far)| *far > 1e-5).map(|found| format!("{name}: {found:?}")));
    }
    assert!(worst.is_empty(), "{worst:?}");
}

#[test]
fn padded_batches_are_single_texts_and_the_differentiable_pass_is_the_fast_one() {
    for folder in all() {
        let (model, name) = (Model::open(&folder).unwrap(), name(&folder));
        let long: Vec<u32> = (0..23).map(|at| 4 + at * 7 % 26).collect();
        let rows: [&[u32]; 3] = [&long[..9], &long, &long[3..16]];
        let batch = Batch::from_ids(&rows).unwrap();
        let mut together = Capture::default();
        let all = model.encoder().forward(&batch, &mut together).unwrap();
        let slow = model.encoder().forward_differentiable(&batch, &mut ()).unwrap();
        for (row, ids) in rows.iter().enumerate() {
            let mut alone = Capture::default();
            let one = model.encoder().forward(&Batch::from_ids(&[ids]).unwrap(), &mut alone).unwrap();
            let n = ids.len() as i64;
            let far = |a: &tch::Tensor, b: &tch::Tensor| (a - b).abs().max().double_value(&[]);
            let of = |all: &tch::Tensor| all.get(row as i64).narrow(0, 0, n);
            assert!(far(&of(&all), &one.get(0)) <= 1e-5, "{name}, row {row}: {}", far(&of(&all), &one.get(0)));
            assert!(far(&of(&slow), &of(&all)) <= 1e-5, "{name}, row {row}");
            let (a, b) = (together.maps(row, ids.len()).unwrap(), alone.maps(0, ids.len()).unwrap());
            assert!(a.iter().zip(b.iter()).all(|(a, b)| (a - b).abs() <= 1e-5), "{name}, row {row}");
            assert!(a.layer(0).unwrap().rows().into_iter().all(|line| (line.sum() - 1.0).abs() <= 1e-5), "{name}");
        }
    }
}

#[test]
fn edits_are_what_they_are_in_every_family() {
    for folder in all() {
        let (model, name) = (Model::open(&folder).unwrap(), name(&folder));
        let input = reference_input(&model, &folder);
        let plain = edited(&model, &input, &[]);
        assert_eq!(last(&edited(&model, &input, &["*.*=scale:1"])), last(&plain), "{name}: to the bit");
        let zero = edited(&model, &input, &["0.1=zero"]);
        assert!(difference(&last(&zero), &last(&plain)) > 1e-4, "{name}: zero changed nothing");
        assert!(difference(&last(&edited(&model, &input, &["0.1=scale:0"])), &last(&zero)) <= 1e-6, "{name}");
        let uniform = edited(&model, &input, &["1.0=uniform"]);
        let share = 1.0 / input.tokens.len() as f32;
        let map = uniform.attention.head(HeadId::new(1, 0)).unwrap();
        assert!(map.iter().all(|weight| (weight - share).abs() < 1e-6), "{name}");
        let cut = edited(&model, &input, &["1.1=cut:2>3", "0.0=causal"]);
        assert_eq!(cut.attention.head(HeadId::new(1, 1)).unwrap()[[2, 3]], 0.0, "{name}");
        assert!(last(&cut).iter().all(|number| number.is_finite()), "{name}");
        // Going on from a cached run equals computing everything.
        let base = model.trace(input.clone(), Default::default(), Vec::new(), None, &mut ()).unwrap();
        let edits: Vec<Edit> = vec!["1.0=zero".parse().unwrap()];
        let plan = headlight::model::Plan::new(&model, &input, &edits, &mut Default::default()).unwrap();
        let traced = model.trace(input.clone(), plan, edits, Some(&base), &mut ()).unwrap();
        let whole = edited(&model, &input, &["1.0=zero"]);
        assert!(difference(&last(traced.run()), &last(&whole)) <= 1e-5, "{name}");
    }
}

#[test]
fn what_can_be_pruned_equals_zero_and_the_rest_says_why_not() {
    for folder in all() {
        let (model, name) = (Model::open(&folder).unwrap(), name(&folder));
        let scratch = tempfile::tempdir().unwrap();
        let gone = [HeadId::new(0, 1)].into();
        let input = reference_input(&model, &folder);
        let zero = edited(&model, &input, &["0.1=zero"]);
        let compact = ["roberta", "camembert", "distilbert", "electra"].iter().any(|family| name.contains(family));
        for shape in [PrunedShape::Same, PrunedShape::Compact] {
            let out = scratch.path().join(format!("{shape:?}"));
            let pruned = prune(&folder, &gone, shape, &out);
            match (name.starts_with("albert"), shape == PrunedShape::Compact && !compact) {
                (true, _) => assert!(pruned.unwrap_err().to_string().contains("share their weights"), "{name}"),
                (_, true) => assert!(matches!(pruned, Err(ModelError::NoCompactForm { .. })), "{name}"),
                _ => {
                    pruned.unwrap();
                    let found = edited(&Model::open(&out).unwrap(), &input, &[]);
                    let far = difference(&last(&found), &last(&zero));
                    assert!(far <= 1e-5, "{name}, {shape:?}: {far}");
                }
            }
        }
    }
}

#[test]
fn the_padding_id_and_the_positions_it_takes_are_those_of_the_family() {
    let positions = |name: &str| {
        let folder = support::clone_root().join("tests/golden/families").join(name);
        Model::open(&folder).unwrap().info().positions
    };
    assert_eq!(positions("roberta-masked-lm"), 42, "44 rows, two of them not for tokens");
    assert_eq!(positions("mpnet-masked-lm"), 42);
    assert_eq!(positions("distilbert-masked-lm"), 44);
}
