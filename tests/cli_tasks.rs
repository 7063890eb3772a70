//! Task heads, pruning and sessions on the command line.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

#[path = "support/program.rs"]
mod program;
mod support;

use headlight::run::{Recipe, Texts, ViewSpec};
use headlight::session::{ModelName, SavedEdit, Session};
use program::{refusal, success, tiny};
use safetensors::SafeTensors;

fn task(name: &str) -> String {
    support::task_model(name).display().to_string()
}

fn floats(tensors: &SafeTensors<'_>, name: &str) -> (Vec<usize>, Vec<f32>) {
    let tensor = tensors.tensor(name).unwrap();
    let numbers = tensor.data().chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap()));
    (tensor.shape().to_vec(), numbers.collect())
}

#[test]
fn run_writes_what_the_task_heads_answer() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run.safetensors").display().to_string();
    let run = |model: &str, words: &[&str]| {
        success(&[&["run", "--model", &task(model), "--out", &out], words].concat());
        std::fs::read(&out).unwrap()
    };
    let bytes = run("pretraining", &["--text", "the cat sat", "--mask", "2"]);
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(floats(&tensors, "logits").0, [5, 49], "every token, not the masked one alone");
    assert_eq!(floats(&tensors, "logits_next-sentence").0, [2]);
    let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
    let metadata = header.metadata().as_ref().unwrap();
    assert_eq!((metadata["task"].as_str(), metadata["masked"].as_str()), ("masked-lm", "[2]"));
    assert!(metadata["tokens"].contains("[MASK]"));
    let bytes = run("sequence", &["--text", "the cat sat"]);
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(floats(&tensors, "logits").0, [3]);
    let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
    assert_eq!(header.metadata().as_ref().unwrap()["labels"], r#"["sad","so-so","glad"]"#);
    let bytes = run("question", &["--text", "who", "--text-b", "the cat"]);
    assert_eq!(floats(&SafeTensors::deserialize(&bytes).unwrap(), "logits").0[1], 2);
    let error = refusal(&["run", "--model", &task("sequence"), "--text", "a", "--mask", "0", "--out", &out], 1);
    assert!(error.contains("token 0 cannot be masked"), "{error}");
}

#[test]
fn models_describes_the_task_heads_and_what_was_pruned() {
    let (text, _) = success(&["models", "--model", &task("sequence")]);
    assert!(text.contains("task\tsequence classification: sad, so-so, glad"), "{text}");
    let (text, _) = success(&["models", "--model", &task("pretraining")]);
    assert!(text.contains("task\tmasked language model") && text.contains("task\tnext sentence"), "{text}");
    let (text, _) = success(&["models", "--model", &tiny()]);
    assert!(text.contains("task\tnone"), "{text}");
}

#[test]
fn prune_writes_a_folder_that_opens_again_and_reports() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (report, note) = success(&["prune", "--model", &tiny(), "--heads", "0.1,2.*", "--out", &path("small")]);
    assert!(report.contains("without 5 of 12 heads") && report.contains("parameters 16464 → 13494"), "{report}");
    assert!(report.contains("times as fast") && report.contains("of switching these heads off"), "{report}");
    assert!(note.contains("transformers 5 does not read"), "{note}");
    let (text, _) = success(&["models", "--model", &path("small")]);
    assert!(text.contains("pruned\t0.1 2.0 2.1 2.2 2.3"), "{text}");
    let run = |model: &str, edits: &[&str], out: &str| {
        success(&[&["run", "--model", model, "--text", "the cat sat", "--out", &path(out)], edits].concat());
        std::fs::read(path(out)).unwrap()
    };
    let (small, off) = (
        run(&path("small"), &[], "a.safetensors"),
        run(&tiny(), &["--edit", "0.1=zero", "--edit", "2.*=zero"], "b.safetensors"),
    );
    let (small, off) = (SafeTensors::deserialize(&small).unwrap(), SafeTensors::deserialize(&off).unwrap());
    let (a, b) = (floats(&small, "last_hidden_state").1, floats(&off, "last_hidden_state").1);
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() <= 1e-5));
    let again = refusal(&["prune", "--model", &tiny(), "--heads", "0.1", "--out", &path("small")], 1);
    assert!(again.contains("something of that name already"), "{again}");
    let outside = refusal(&["prune", "--model", &tiny(), "--heads", "9.9", "--out", &path("x")], 1);
    assert!(outside.contains("layers 0 to 2 and heads 0 to 3"), "{outside}");
    let (_, note) = success(&["prune", "--model", &tiny(), "--heads", "0.1", "--same-shape", "--out", &path("same")]);
    assert_eq!(note, "");
    std::fs::create_dir(folder.path().join("albert")).unwrap();
    std::fs::write(folder.path().join("albert/config.json"), r#"{"model_type": "albert"}"#).unwrap();
    let shared = refusal(&["prune", "--model", &path("albert"), "--heads", "0.1", "--out", &path("y")], 1);
    assert!(shared.contains("its layers share their weights"), "{shared}");
}

#[test]
fn rank_and_sweep_take_labelled_texts() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("texts.tsv"), "the cat sat\tglad\na dog\tsad\n").unwrap();
    let words = |command: &'static str, target: &'static str, out: String| {
        vec![
            command.to_owned(),
            "--model".into(),
            task("sequence"),
            "--texts".into(),
            path("texts.tsv"),
            "--target".into(),
            target.into(),
            "--out".into(),
            out,
        ]
    };
    let call = |words: Vec<String>| success(&words.iter().map(String::as_str).collect::<Vec<_>>());
    call(words("rank", "loss", path("loss.json")));
    let table: serde_json::Value = serde_json::from_slice(&std::fs::read(path("loss.json")).unwrap()).unwrap();
    assert_eq!((table["target"].as_str(), table["texts"].as_u64()), (Some("loss"), Some(2)));
    let effects: Vec<f64> =
        table["heads"].as_array().unwrap().iter().map(|head| head["effect"].as_f64().unwrap()).collect();
    assert!(effects.is_sorted(), "the head without which the loss rises most comes first: {effects:?}");
    assert!(table["random_head"]["deviation"].as_f64().unwrap() > 0.0);
    call([words("rank", "loss", path("gradient.csv")), vec!["--by".into(), "gradient".into()]].concat());
    call(words("sweep", "accuracy", path("curve.csv")));
    assert_eq!(std::fs::read_to_string(path("curve.csv")).unwrap().lines().count(), 6);
    std::fs::write(path("texts.tsv"), "the cat sat\tangry\n").unwrap();
    let bad = words("rank", "loss", path("x.csv"));
    let bad = refusal(&bad.iter().map(String::as_str).collect::<Vec<_>>(), 1);
    assert!(bad.contains("there is no class “angry”") && bad.contains("sad, so-so, glad"), "{bad}");
    let bad = refusal(&["rank", "--texts", "x", "--target", "blue", "--out", "x.csv"], 2);
    assert!(bad.contains("is no target"), "{bad}");
}

#[test]
fn a_session_runs_without_a_window() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let saved = |edit: &str, on| SavedEdit { edit: edit.parse().unwrap(), on };
    let session = Session {
        version: Session::VERSION,
        model: ModelName { name: "pretraining".into(), folder: support::task_model("pretraining") },
        texts: Texts::single("the cat sat"),
        masked: vec![2],
        edits: vec![saved("0.1=zero", true), saved("1.*=zero", false)],
        view: ViewSpec::default(),
        pinned: Some(Recipe::plain(Texts::single("a dog"))),
    };
    session.write(&folder.path().join("s.json")).unwrap();
    success(&["run", "--session", &path("s.json"), "--out", &path("a.safetensors")]);
    let words = ["run", "--model", &task("pretraining"), "--text", "the cat sat", "--mask", "2", "--edit", "0.1=zero"];
    success(&[words.as_slice(), &["--out", &path("b.safetensors")]].concat());
    let (a, b) = (std::fs::read(path("a.safetensors")).unwrap(), std::fs::read(path("b.safetensors")).unwrap());
    let (a, b) = (SafeTensors::deserialize(&a).unwrap(), SafeTensors::deserialize(&b).unwrap());
    assert_eq!(floats(&a, "attention"), floats(&b, "attention"));
    assert_eq!(floats(&a, "logits"), floats(&b, "logits"));
    success(&["heatmap", "--session", &path("s.json"), "--head", "0.0", "--out", &path("a.svg")]);
    let none = refusal(&["run", "--session", &path("none"), "--out", &path("x")], 1);
    assert!(none.contains("cannot read"), "{none}");
    std::fs::write(path("bad.json"), "{}").unwrap();
    assert!(refusal(&["run", "--session", &path("bad.json"), "--out", &path("x")], 1).contains("is no session"));
    let both = refusal(&["run", "--session", &path("s.json"), "--text", "a", "--out", &path("x")], 2);
    assert!(both.contains("cannot be used with"), "{both}");
}
