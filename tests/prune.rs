//! Heads that are removed for good are the same as heads that are switched off.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

mod support;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use headlight::engine::Experiment;
use headlight::lab::{GradientImportance, Importance, LeaveOneOut, Prune, PruneOutcome, Sensitivity, Target};
use headlight::model::{Batch, Capture, Model, PrunedShape, prune};
use headlight::run::{Edit, HeadId, Run, Texts};
use safetensors::SafeTensors;

const TEXT: &str = "the cat sat on the mat";

fn heads(words: &[&str]) -> BTreeSet<HeadId> {
    words.iter().map(|word| word.parse().unwrap()).collect()
}

fn run(model: &Model, off: &BTreeSet<HeadId>) -> Run {
    let edits: Vec<Edit> = off.iter().map(|head| format!("{head}=zero").parse().unwrap()).collect();
    model.run_edited(model.tokenize(&support::single(TEXT)).unwrap(), &edits, &mut ()).unwrap()
}

fn difference(a: &Run, b: &Run) -> f32 {
    let pairs = a.hidden.iter().flat_map(|layer| layer.iter()).zip(b.hidden.iter().flat_map(|layer| layer.iter()));
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// A pruned copy in a folder of its own.
fn pruned(from: &Path, gone: &BTreeSet<HeadId>, shape: PrunedShape) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("pruned");
    prune(from, gone, shape, &out).unwrap();
    (folder, out)
}

/// Some heads, a whole layer, and everything.
fn choices() -> [BTreeSet<HeadId>; 4] {
    [
        heads(&["0.1", "2.3"]),
        heads(&["1.0", "1.1", "1.2", "1.3"]),
        heads(&["0.0", "0.1", "0.2", "2.1"]),
        HeadId::all(3, 4).collect(),
    ]
}

#[test]
fn both_shapes_equal_switching_the_heads_off() {
    let whole = Model::open(&support::tiny_model()).unwrap();
    for gone in choices() {
        let off = run(&whole, &gone);
        for shape in [PrunedShape::Compact, PrunedShape::Same] {
            let (_folder, out) = pruned(&support::tiny_model(), &gone, shape);
            let model = Model::open(&out).unwrap();
            let found = run(&model, &BTreeSet::new());
            assert!(difference(&off, &found) <= 1e-5, "{shape:?}, {gone:?}: {}", difference(&off, &found));
            for head in HeadId::all(3, 4) {
                let (map, before) = (found.attention.head(head).unwrap(), off.attention.head(head).unwrap());
                let same = map.iter().zip(&before).all(|(a, b)| (a - b).abs() <= 1e-5);
                let nothing = map.iter().all(|weight| *weight == 0.0);
                let is_gone = shape == PrunedShape::Compact && gone.contains(&head);
                assert!(if is_gone { nothing } else { same }, "{shape:?}: {head}");
            }
            let parameters = model.info().parameters;
            // 6 columns of W_O and 6 rows with their biases of query, key and value.
            let fewer = if shape == PrunedShape::Compact { gone.len() * (4 * 6 * 24 + 3 * 6) } else { 0 };
            assert_eq!(parameters + fewer, whole.info().parameters);
        }
    }
}

#[test]
fn a_pruned_model_is_a_model_like_any_other() {
    let gone = heads(&["0.1", "1.0", "1.1", "1.2", "1.3"]);
    let (_folder, out) = pruned(&support::tiny_model(), &gone, PrunedShape::Compact);
    let model = Model::open(&out).unwrap();
    assert_eq!(model.info().pruned, gone);
    // Padded batches.
    let rows: [&[u32]; 2] = [&[2, 36, 37, 3], &[2, 36, 38, 40, 41, 3]];
    let batch = Batch::from_ids(&rows).unwrap();
    let (mut together, mut alone) = (Capture::default(), Capture::default());
    drop(model.encoder().forward(&batch, &mut together).unwrap());
    drop(model.encoder().forward(&Batch::from_ids(&rows[..1]).unwrap(), &mut alone).unwrap());
    let (a, b) = (together.hidden(0, 4).unwrap(), alone.hidden(0, 4).unwrap());
    assert!(a.iter().zip(&b).all(|(a, b)| a.iter().zip(b.iter()).all(|(a, b)| (a - b).abs() < 1e-5)));
    // A pass that nobody watches gives the same.
    let unwatched = model.encoder().forward(&batch, &mut ()).unwrap();
    let watched = model.encoder().forward(&batch, &mut Capture::default()).unwrap();
    assert!((unwatched - watched).abs().max().double_value(&[]) < 1e-6);
    // Edits and experiments on the heads that are left.
    let edited =
        model.run_edited(model.tokenize(&support::single(TEXT)).unwrap(), &["0.*=uniform".parse().unwrap()], &mut ());
    let edited = edited.unwrap();
    assert!(edited.attention.head(HeadId::new(0, 0)).unwrap().iter().all(|weight| (weight - 0.125).abs() < 1e-6));
    assert!(edited.attention.head(HeadId::new(0, 1)).unwrap().iter().all(|weight| *weight == 0.0));
    let pairs = std::sync::Arc::new(vec![Texts::pair("the cat", "a dog").into()]);
    let mut experiment = LeaveOneOut { examples: pairs.clone(), target: Target::Similarity };
    let found = experiment.run(&model, &mut |_| Ok(())).unwrap().downcast::<Importance>().unwrap();
    assert!(gone.iter().all(|head| found.effect[[head.layer, head.head]].abs() < 1e-6));
    let found = GradientImportance { examples: pairs, target: Target::Similarity }
        .run(&model, &mut |_| Ok(()))
        .unwrap()
        .downcast::<Sensitivity>()
        .unwrap();
    assert_eq!(found.silent, [1]);
    assert!(found.raw[[0, 0]] > 0.0 && found.raw[[0, 1]] == 0.0);
    // A head that is gone cannot be edited.
    let error =
        model.run_edited(model.tokenize(&support::single(TEXT)).unwrap(), &["1.*=zero".parse().unwrap()], &mut ());
    assert!(error.unwrap_err().to_string().contains("head 1.0 was pruned"));
}

#[test]
fn pruning_twice_keeps_the_first_numbers() {
    let (_first, once) = pruned(&support::tiny_model(), &heads(&["0.0", "0.2"]), PrunedShape::Compact);
    for shape in [PrunedShape::Compact, PrunedShape::Same] {
        let (_second, twice) = pruned(&once, &heads(&["0.3"]), shape);
        let model = Model::open(&twice).unwrap();
        let off = run(&Model::open(&support::tiny_model()).unwrap(), &heads(&["0.0", "0.2", "0.3"]));
        assert!(difference(&off, &run(&model, &BTreeSet::new())) <= 1e-5, "{shape:?}");
    }
    let error = prune(&once, &heads(&["0.2"]), PrunedShape::Compact, Path::new("never")).unwrap_err().to_string();
    assert!(error.contains("head 0.2 was pruned"), "{error}");
}

#[test]
fn the_config_says_what_transformers_4_wrote_and_the_rest_is_kept() {
    let (_folder, out) = pruned(&support::task_model("sequence"), &heads(&["1.0"]), PrunedShape::Compact);
    let config: serde_json::Value = serde_json::from_slice(&std::fs::read(out.join("config.json")).unwrap()).unwrap();
    assert_eq!(config["pruned_heads"], serde_json::json!({"1": [0]}));
    assert_eq!(config["id2label"]["2"], "glad");
    let bytes = std::fs::read(out.join("model.safetensors")).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let shape = |name: &str| tensors.tensor(name).unwrap().shape().to_vec();
    assert_eq!(shape("bert.encoder.layer.1.attention.self.query.weight"), [8, 16]);
    assert_eq!(shape("bert.encoder.layer.1.attention.self.value.bias"), [8]);
    assert_eq!(shape("bert.encoder.layer.1.attention.output.dense.weight"), [16, 8]);
    assert_eq!(shape("bert.encoder.layer.0.attention.self.query.weight"), [16, 16]);
    let whole = Model::open(&support::task_model("sequence")).unwrap();
    let (off, found) = (run(&whole, &heads(&["1.0"])), run(&Model::open(&out).unwrap(), &BTreeSet::new()));
    let logits = |run: &Run| run.outputs[0].logits.clone();
    assert!((logits(&off) - logits(&found)).iter().all(|difference| difference.abs() <= 1e-5));
    let (_same, out) = pruned(&support::task_model("sequence"), &heads(&["1.0"]), PrunedShape::Same);
    let config: serde_json::Value = serde_json::from_slice(&std::fs::read(out.join("config.json")).unwrap()).unwrap();
    assert!(config.get("pruned_heads").is_none(), "transformers 5 would refuse it");
    for file in ["vocab.txt", "tokenizer_config.json"] {
        let read = |folder: &Path| std::fs::read(folder.join(file)).unwrap();
        assert_eq!(read(&out), read(&support::task_model("sequence")));
    }
}

#[test]
fn how_a_sentence_model_pools_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(support::tiny_model()).unwrap().flatten() {
        std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    let modules = r#"[{"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]"#;
    std::fs::write(folder.path().join("modules.json"), modules).unwrap();
    std::fs::create_dir(folder.path().join("1_Pooling")).unwrap();
    std::fs::write(folder.path().join("1_Pooling/config.json"), r#"{"pooling_mode_cls_token": true}"#).unwrap();
    let (_out, out) = pruned(folder.path(), &heads(&["0.0"]), PrunedShape::Compact);
    let (whole, found) = (Model::open(folder.path()).unwrap(), Model::open(&out).unwrap());
    assert!(whole.info().pooling.declared);
    assert_eq!(found.info().pooling, whole.info().pooling);
}

#[test]
fn weights_can_be_read_by_whoever_can_read_the_files_beside_them() {
    let (_folder, out) = pruned(&support::tiny_model(), &heads(&["0.1"]), PrunedShape::Compact);
    let permissions = |name: &str| std::fs::metadata(out.join(name)).unwrap().permissions();
    assert_eq!(permissions("model.safetensors"), permissions("config.json"));
}

#[test]
fn what_cannot_be_pruned_is_refused_and_nothing_is_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |from: &Path, gone: &[&str], out: &Path| {
        prune(from, &heads(gone), PrunedShape::Compact, out).unwrap_err().to_string()
    };
    let out = folder.path().join("out");
    assert!(refused(&support::tiny_model(), &["3.0"], &out).contains("layers 0 to 2"));
    assert!(refused(&support::tiny_model(), &["0.0"], folder.path()).contains("something of that name already"));
    std::fs::write(folder.path().join("config.json"), r#"{"model_type": "albert"}"#).unwrap();
    assert!(refused(folder.path(), &["0.0"], &out).contains("layers share their weights"));
    std::fs::write(folder.path().join("file"), "").unwrap();
    assert!(refused(&support::tiny_model(), &["0.0"], &folder.path().join("file/out")).contains("cannot write"));
    assert!(!out.exists() && !folder.path().join("out.part").exists());
}

#[test]
fn the_experiment_reports_what_pruning_brought() {
    let folder = tempfile::tempdir().unwrap();
    let model = Model::open(&support::tiny_model()).unwrap();
    let spec = Prune { heads: heads(&["0.1", "2.3"]), shape: PrunedShape::Compact, out: folder.path().join("out") };
    let found = spec.clone().run(&model, &mut |_| Ok(())).unwrap().downcast::<PruneOutcome>().unwrap();
    assert!(found.difference <= 1e-5 && found.after.parameters < found.before.parameters);
    assert!(found.after.bytes < found.before.bytes);
    let report = found.report().join("\n");
    for wanted in
        ["parameters 16464 → 15276", "weights 0.1 MB", "16 tokens: ", "times as fast", "last hidden state within"]
    {
        assert!(report.contains(wanted), "{wanted}: {report}");
    }
    assert!(spec.clone().run(&model, &mut |_| Ok(())).is_err(), "the folder is there now");
}
