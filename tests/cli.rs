//! Each sub-command as a process: what it writes, what it prints where, and its exit code.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

#[path = "support/program.rs"]
mod program;
mod support;

use std::path::Path;
use std::process::Command;

use program::{headlight_in, refusal, success, tiny};
use safetensors::{Dtype, SafeTensors};

#[test]
fn run_writes_what_the_documentation_says() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.safetensors");
    let out = file.to_str().unwrap();
    success(&["run", "--model", &tiny(), "--text", "the cat", "--text-b", "sat", "--out", out]);
    let bytes = std::fs::read(&file).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let shape = |name: &str| {
        let tensor = tensors.tensor(name).unwrap();
        (tensor.dtype(), tensor.shape().to_vec())
    };
    assert_eq!(shape("input_ids"), (Dtype::I64, vec![6]));
    assert_eq!(shape("token_type_ids"), (Dtype::I64, vec![6]));
    assert_eq!(shape("attention"), (Dtype::F32, vec![3, 4, 6, 6]));
    assert_eq!(shape("last_hidden_state"), (Dtype::F32, vec![6, 24]));
    assert_eq!(shape("pooler_output"), (Dtype::F32, vec![24]));
    assert_eq!(shape("sentence_embedding"), (Dtype::F32, vec![24]));
    let types: Vec<u8> = tensors.tensor("token_type_ids").unwrap().data().iter().copied().step_by(8).collect();
    assert_eq!(types, [0, 0, 0, 0, 1, 1]);
    let (_, metadata) = SafeTensors::read_metadata(&bytes).unwrap();
    let metadata = metadata.metadata().as_ref().unwrap();
    let tokens: Vec<String> = serde_json::from_str(&metadata["tokens"]).unwrap();
    assert_eq!(tokens, ["[CLS]", "the", "cat", "[SEP]", "sat", "[SEP]"]);
    assert_eq!((metadata["text"].as_str(), metadata["text_b"].as_str()), ("the cat", "sat"));
    assert_eq!(metadata["model"], "tiny-bert");
    assert!(metadata["pooling"].contains("not declared by the model"));
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "a temporary file was left");
}

#[test]
fn run_with_edits_writes_the_weights_as_applied_and_as_computed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.safetensors");
    let out = file.to_str().unwrap();
    let text = ["--text", "the cat sat", "--edit", "0.1=uniform", "--edit", "2.*=zero", "--edit", "1.0=cut:1>0"];
    success(&[&["run", "--model", &tiny()], text.as_slice(), &["--out", out]].concat());
    let bytes = std::fs::read(&file).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let floats = |name: &str| -> Vec<f32> {
        let data = tensors.tensor(name).unwrap().data();
        data.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect()
    };
    let (applied, computed) = (floats("attention"), floats("attention_computed"));
    let map = 5 * 5;
    assert!(applied[map..2 * map].iter().all(|weight| (weight - 0.2).abs() < 1e-6));
    assert!(computed[map..2 * map].iter().any(|weight| (weight - 0.2).abs() > 0.05));
    let cut = 4 * map + 5; // layer 1, head 0, query 1, key 0
    assert_eq!(applied[cut], 0.0);
    assert!(computed[cut] > 0.0);
    assert_eq!(tensors.tensor("context").unwrap().shape(), [3, 4, 5, 6]);
    let (_, metadata) = SafeTensors::read_metadata(&bytes).unwrap();
    assert_eq!(metadata.metadata().as_ref().unwrap()["edits"], r#"["0.1=uniform","2.*=zero","1.0=cut:1>0"]"#);
    // What was written can be patched from.
    let patch = format!("*.*=patch:context@{out}");
    success(&["run", "--model", &tiny(), "--text", "the cat sat", "--edit", &patch, "--out", out]);
}

#[test]
fn run_takes_numbers_and_needs_no_tokenizer_for_them() {
    let folder = tempfile::tempdir().unwrap();
    for file in ["config.json", "model.safetensors"] {
        std::fs::copy(support::tiny_model().join(file), folder.path().join(file)).unwrap();
    }
    let (model, out) = (folder.path().to_str().unwrap(), folder.path().join("x.safetensors"));
    success(&["run", "--model", model, "--ids", "2 36 3", "--out", out.to_str().unwrap()]);
    let error = refusal(&["run", "--model", model, "--text", "the", "--out", out.to_str().unwrap()], 1);
    assert!(error.contains("no tokenizer") && error.contains("--ids"), "{error}");
}

/// Width and height of a PNG, from its header.
fn png_size(path: &Path) -> (u32, u32) {
    let bytes = std::fs::read(path).unwrap();
    assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n", "{}", path.display());
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    (number(16), number(20))
}

#[test]
fn heatmap_draws_one_head_at_ten_by_eight_inches() {
    let folder = tempfile::tempdir().unwrap();
    let (png, svg) = (folder.path().join("one.png"), folder.path().join("one.svg"));
    let arguments = |out: &Path, dpi: &str| {
        let out = out.to_str().unwrap().to_owned();
        ["heatmap", "--model", &tiny(), "--text", "the <cat> & 你", "--head", "2.3", "--dpi", dpi, "--out", &out]
            .map(str::to_owned)
    };
    let call = |words: [String; 11]| success(&words.iter().map(String::as_str).collect::<Vec<_>>());
    call(arguments(&png, "50"));
    assert_eq!(png_size(&png), (500, 400));
    call(arguments(&svg, "50"));
    let text = std::fs::read_to_string(&svg).unwrap();
    for wanted in ["layer 2, head 3", "Query (attends)", "Key (attended to)", "&lt;", "&amp;", "你", "[CLS]"] {
        assert!(text.contains(wanted), "{wanted} is missing");
    }
}

#[test]
fn heatmap_draws_all_heads_one_file_each() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("new/folder");
    success(&[
        "heatmap",
        "--model",
        &tiny(),
        "--text",
        "a b",
        "--all",
        "--out-dir",
        out.to_str().unwrap(),
        "--dpi",
        "20",
    ]);
    let mut names: Vec<String> =
        std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names.len(), 12);
    assert_eq!((names[0].as_str(), names[11].as_str()), ("layer0-head00.png", "layer2-head03.png"));
    assert_eq!(png_size(&out.join(&names[11])), (200, 160));
}

#[test]
fn models_lists_and_describes() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("mine");
    std::fs::create_dir(&own).unwrap();
    std::fs::copy(support::tiny_model().join("config.json"), own.join("config.json")).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_headlight"))
        .arg("models")
        .env("HEADLIGHT_MODELS", folder.path())
        .output()
        .unwrap();
    let list = String::from_utf8(output.stdout).unwrap();
    assert!(list.contains("mine\tbert, 3 layers × 4 heads"), "{list}");
    let (text, _) = success(&["models", "--model", &tiny()]);
    for wanted in ["layers\t3 (0 to 2)", "heads\t4 a layer (0 to 3), each 6 wide", "positions\t48", "pooler\tyes"] {
        assert!(text.contains(wanted), "{wanted:?} is missing from {text}");
    }
}

#[test]
fn rank_writes_heads_most_important_first() {
    let folder = tempfile::tempdir().unwrap();
    let texts = folder.path().join("texts.txt");
    std::fs::write(&texts, "the cat sat\n\na dog\n").unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let rank = |texts: &str, words: &[&str], out: &str| {
        success(&[&["rank", "--model", &tiny(), "--texts", texts, "--out", out], words].concat())
    };
    let (json, csv) = (path("heads.json"), path("heads.csv"));
    let (told, quiet) = rank(&path("texts.txt"), &["--by", "loo", "--target", "self"], &json);
    assert!(told.contains("12 heads, most important") && quiet.is_empty(), "{told} {quiet}");
    let table: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    assert_eq!((table["texts"].as_u64(), table["target"].as_str()), (Some(2), Some("self")));
    let effects: Vec<f64> =
        table["heads"].as_array().unwrap().iter().map(|head| head["effect"].as_f64().unwrap()).collect();
    assert_eq!(effects.len(), 12);
    assert!(effects.is_sorted_by(|a, b| a >= b) && effects[0] > 0.0, "{effects:?}");
    assert!(table["heads"][0]["low"].as_f64() < table["heads"][0]["high"].as_f64());

    std::fs::write(&texts, "the cat\ta dog\n").unwrap();
    rank(&path("texts.txt"), &["--target", "similarity"], &csv);
    let lines = std::fs::read_to_string(&csv).unwrap();
    assert_eq!(lines.lines().count(), 13);
    assert_eq!(lines.lines().next(), Some("head,layer,index,effect,low,high"));
    let (_, signal) = rank(&path("texts.txt"), &["--by", "gradient", "--target", "similarity"], &json);
    assert_eq!(signal, "");
    let table: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    assert_eq!(table["layers_without_signal"].as_array().map(Vec::len), Some(0));
    let squares: f64 =
        table["heads"].as_array().unwrap().iter().map(|h| h["importance"].as_f64().unwrap().powi(2)).sum();
    assert!((squares - 3.0).abs() < 1e-4, "each of three layers is scaled to length 1: {squares}");
    std::fs::write(&texts, "the cat\tthe cat\n").unwrap();
    let (_, silent) = rank(&path("texts.txt"), &["--by", "gradient", "--target", "similarity"], &csv);
    assert!(silent.contains("layer 0 has no signal"), "{silent}");
    let own =
        refusal(&["rank", "--model", &tiny(), "--texts", &path("texts.txt"), "--by", "gradient", "--out", &csv], 1);
    assert!(own.contains("its gradient is 0") && own.contains("or leave-one-out"), "{own}");
    let one = refusal(&["rank", "--model", &tiny(), "--texts", &path("none"), "--out", &csv], 1);
    assert!(one.contains("cannot read"), "{one}");
    std::fs::write(&texts, "no pair\n").unwrap();
    let arguments =
        ["rank", "--model", &tiny(), "--texts", &path("texts.txt"), "--target", "similarity", "--out", &csv];
    let no_tab = refusal(&arguments, 1);
    assert!(no_tab.contains("line 1") && no_tab.contains("tab between"), "{no_tab}");
}

#[test]
fn sweep_draws_the_curve_of_all_heads() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (texts, json, csv, svg, png) = (path("t.txt"), path("c.json"), path("c.csv"), path("c.svg"), path("c.png"));
    std::fs::write(&texts, "the cat sat\na dog\n").unwrap();
    let outs = ["--out", &json, "--out", &csv, "--out", &svg, "--out", &png];
    let model = tiny();
    let arguments = ["sweep", "--model", &model, "--texts", &texts, "--stop", "5"];
    let (told, _) = success(&[arguments.as_slice(), outs.as_slice()].concat());
    assert!(told.contains("of 12 heads can go"), "{told}");
    let table: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    let curves = table["curves"].as_array().unwrap();
    let names: Vec<&str> = curves.iter().map(|curve| curve["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["least important first", "at random", "most important first"]);
    for curve in curves {
        let values: Vec<f64> = curve["values"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
        assert_eq!(values.len(), 13);
        assert!((values[0] - 1.0).abs() < 1e-6);
        assert!(
            (values[12] - curves[0]["values"][12].as_f64().unwrap()).abs() < 1e-5,
            "all off is the same in any order"
        );
    }
    assert_eq!(std::fs::read_to_string(&csv).unwrap().lines().count(), 14);
    let drawn = std::fs::read_to_string(&svg).unwrap();
    for wanted in ["least important first", "Heads switched off", "within 5 %"] {
        assert!(drawn.contains(wanted), "{wanted}");
    }
    assert_eq!(png_size(Path::new(&png)), (2000, 1200));
    // The seed decides the random order, and it alone.
    let again = path("again.json");
    success(&[arguments.as_slice(), &["--out", &again]].concat());
    assert_eq!(std::fs::read(&json).unwrap(), std::fs::read(&again).unwrap());
    refusal(&["sweep", "--model", &model, "--texts", &texts, "--out", &path("x.bmp")], 1);
    refusal(&["sweep", "--model", &model, "--texts", &texts, "--out", &png, "--stop", "x"], 2);
}

#[test]
fn what_the_reader_must_know_goes_to_standard_error() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("x.safetensors");
    let call = |text: &str| success(&["run", "--model", &tiny(), "--text", text, "--out", out.to_str().unwrap()]);
    let (_, cut) = call(&"cat ".repeat(60));
    assert_eq!(cut, "headlight: note: 48 of 62 tokens shown: the model has no more positions\n");
    let (_, unknown) = call("中文");
    let wanted = "2 of 2 pieces are [UNK]: 2 because the vocabulary has only 3 letters of the Han script (token 1 “中”, token 2 “文”)";
    assert!(unknown.contains(wanted) && unknown.contains("open a model trained on that language"), "{unknown}");
    let emoji = call("the 😀").1;
    assert!(
        emoji.contains("1 of 2 pieces is [UNK]: 1 because the vocabulary lacks an emoji or symbol (token 2 “😀”)"),
        "{emoji}"
    );
    assert!(!emoji.contains("open a model"), "{emoji}");
    assert_eq!(call("the cat").1, "");
}

#[test]
fn wrong_use_ends_with_2_and_one_line() {
    for arguments in [
        vec!["nonsense"],
        vec!["run"],
        vec!["heatmap", "--text", "a"],
        vec!["heatmap", "--text", "a", "--head", "3.4"],
        vec!["heatmap", "--text", "a", "--all"],
        vec!["heatmap", "--text", "a", "--head", "x", "--out", "a.png"],
        vec!["heatmap", "--text", "a", "--head", "3.4", "--out", "a.png", "--colors", "rainbow"],
        vec!["run", "--text", "a", "--ids", "1", "--out", "x"],
        vec!["run", "--text", "a", "--out", "x", "--edit", "3.4=scale:x"],
        vec!["run", "--text", "a", "--out", "x", "--edit", "3.4=explode"],
        vec!["--text-b", "b"],
        vec!["--theme", "pink"],
    ] {
        refusal(&arguments, 2);
    }
}

#[test]
fn a_failure_ends_with_1_and_names_its_cause() {
    let tiny = tiny();
    let cases: [(&[&str], &str); 9] = [
        (
            &["run", "--model", &tiny, "--text", "a", "--out", "x", "--edit", "9.99=zero"],
            "layers 0 to 2 and heads 0 to 3",
        ),
        (
            &["run", "--model", &tiny, "--text", "a", "--out", "x", "--edit", "0.0=patch:weights@text:a b c"],
            "a run of 5 tokens, but this text has 3",
        ),
        (&["run", "--model", "no-such-model", "--text", "a", "--out", "x"], "no model “no-such-model”"),
        (
            &["heatmap", "--model", &tiny, "--text", "a", "--head", "9.99", "--out", "a.png"],
            "layers 0 to 2 and heads 0 to 3",
        ),
        (&["heatmap", "--model", &tiny, "--text", "a", "--head", "0.0", "--out", "a.bmp"], "end it with .png or .svg"),
        (&["run", "--model", &tiny, "--ids", "2 99", "--out", "x"], "99 is outside the vocabulary"),
        (&["run", "--model", &tiny, "--text", "a", "--out", "no/such/folder/x"], "cannot write no/such/folder/x"),
        (&["models", "--model", "tests"], "no config.json"),
        (
            &["heatmap", "--model", &tiny, "--text", "a", "--head", "0.0", "--out", "a.png", "--queries", "0..9"],
            "no tokens 0..9: this picture has 0..3",
        ),
    ];
    for (arguments, wanted) in cases {
        let error = refusal(arguments, 1);
        assert!(error.contains(wanted), "{error}");
    }
}

#[test]
fn damaged_models_are_refused_with_the_weight_at_fault() {
    let refused = |change: &dyn Fn(&Path)| {
        let folder = tempfile::tempdir().unwrap();
        for file in ["config.json", "model.safetensors", "vocab.txt"] {
            std::fs::copy(support::tiny_model().join(file), folder.path().join(file)).unwrap();
        }
        change(folder.path());
        refusal(&["models", "--model", folder.path().to_str().unwrap()], 1)
    };
    let edit_config = |folder: &Path, from: &str, to: &str| {
        let path = folder.join("config.json");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(from));
        std::fs::write(path, text.replace(from, to)).unwrap();
    };
    let more_layers = refused(&|folder| edit_config(folder, "\"num_hidden_layers\": 3", "\"num_hidden_layers\": 4"));
    assert!(more_layers.contains("encoder.layer.3.") && more_layers.contains("missing"), "{more_layers}");
    let wider = refused(&|folder| edit_config(folder, "\"intermediate_size\": 40", "\"intermediate_size\": 44"));
    assert!(wider.contains("[40, 24]") && wider.contains("[44, 24]"), "{wider}");
    let cut = refused(&|folder| {
        let path = folder.join("model.safetensors");
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
    });
    assert!(cut.contains("is no file of weights"), "{cut}");
    let none = refused(&|folder| std::fs::remove_file(folder.join("model.safetensors")).unwrap());
    assert!(none.contains("has no weights"), "{none}");
}

#[test]
fn without_a_display_the_window_says_what_works_without_one() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let error = refusal(&["--model", &tiny()], 1);
    assert!(error.contains("no display") && error.contains("`headlight heatmap`"), "{error}");
}

#[test]
fn the_binary_starts_from_any_folder_without_a_library_path() {
    let folder = tempfile::tempdir().unwrap();
    let output = headlight_in(folder.path(), &["--version"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("headlight "));
}

#[test]
fn every_scale_of_colours_is_drawn_and_a_range_without_effect_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.svg").display().to_string();
    let ask = ["heatmap", "--model", &tiny(), "--text", "a b", "--head", "0.0", "--out", &out];
    for scale in ["linear", "sqrt", "log", "by-row", "percentile"] {
        success(&[&ask[..], &["--scale", scale]].concat());
    }
    let refused = refusal(&[&ask[..], &["--scale", "by-row", "--range", "layer"]].concat(), 1);
    assert!(refused.contains("--range layer has no effect on --scale by-row"), "{refused}");
    let unknown = refusal(&[&ask[..], &["--scale", "rank"]].concat(), 2);
    assert!(unknown.contains("by-row") && unknown.contains("percentile"), "{unknown}");
}
