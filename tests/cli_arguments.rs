//! Words on the command line: any string is a text, and what is no head, edit or name is told as such.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

#[path = "support/program.rs"]
mod program;
mod support;

use program::{refusal, success, tiny};
use safetensors::SafeTensors;

/// Texts that an argument reader could take for something else.
const TEXTS: [&str; 9] = ["- item one", "-", "--", "-1.0", "--text", "--out", "--help", "-V", "—x=y"];

#[test]
fn any_string_is_a_text_also_one_that_looks_like_an_option() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.safetensors");
    let out = file.to_str().unwrap();
    for text in TEXTS {
        success(&["run", "--model", &tiny(), "--text", text, "--text-b", text, "--out", out]);
        let bytes = std::fs::read(&file).unwrap();
        let (_, metadata) = SafeTensors::read_metadata(&bytes).unwrap();
        let metadata = metadata.metadata().as_ref().unwrap();
        assert_eq!((metadata["text"].as_str(), metadata["text_b"].as_str()), (text, text));
        std::fs::remove_file(&file).unwrap();
    }
}

#[test]
fn a_value_with_a_hyphen_is_judged_by_the_option_that_it_was_given_to() {
    let model = tiny();
    let run = ["run", "--model", &model, "--text", "the cat", "--out", "never.safetensors"];
    let heatmap = ["heatmap", "--model", &model, "--text", "the cat", "--out", "never.png"];
    let with = |command: &[&str], option: &str, value: &str| {
        let error = refusal(&[command, &[option, value]].concat(), 2);
        assert!(!error.contains("unexpected argument"), "{option} {value}: {error}");
        assert!(error.contains(value), "{option} {value}: {error}");
        error
    };
    for head in ["-1.0", "-3", "--1.0", "-x"] {
        assert!(with(&heatmap, "--head", head).contains("write layer.head"), "{head}");
    }
    with(&heatmap, "--pool", "-1.0,0.0");
    for option in ["--range", "--scale", "--units", "--special", "--segments", "--colors", "--queries", "--keys"] {
        with(&[heatmap.as_slice(), &["--head", "0.0"]].concat(), option, "-1");
    }
    assert!(with(&run, "--edit", "-1.0=zero").contains("layer.head"));
    with(&run, "--mask", "-1");
    with(&["rank", "--model", &model, "--texts", "none.txt", "--out", "never.csv"], "--target", "-x");
    assert!(with(&["prune", "--model", &model, "--out", "never"], "--heads", "-1.0").contains("layer.head"));
    // These are judged by what reads them, after the arguments.
    for arguments in
        [&["models", "--model", "-x"][..], &["run", "--model", &model, "--ids", "-5 1", "--out", "never.safetensors"]]
    {
        let error = refusal(arguments, 1);
        assert!(error.contains("-x") || error.contains("-5"), "{error}");
    }
}

#[test]
fn rank_and_sweep_take_a_text_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (lines, by_file, by_text) = (path("texts.txt"), path("file.csv"), path("text.csv"));
    for (line, words, target) in [
        ("- the cat", &["--text", "- the cat"][..], "self"),
        ("the cat\ta dog", &["--text", "the cat", "--text-b", "a dog"][..], "similarity"),
        ("the cat\tglad", &["--text", "the cat", "--answer", "glad"][..], "loss"),
    ] {
        let model = if target == "loss" { support::task_model("sequence").display().to_string() } else { tiny() };
        std::fs::write(&lines, line).unwrap();
        let rank = ["rank", "--model", &model, "--target", target];
        success(&[&rank[..], &["--texts", &lines, "--out", &by_file]].concat());
        success(&[&rank[..], words, &["--out", &by_text]].concat());
        assert_eq!(std::fs::read(&by_file).unwrap(), std::fs::read(&by_text).unwrap(), "{target}");
    }
    success(&["sweep", "--model", &tiny(), "--text", "the cat", "--out", &by_text]);
    let model = tiny();
    let refused = |words: &[&str], code: i32| {
        refusal(&[&["rank", "--model", &model, "--out", "never.csv"], words].concat(), code)
    };
    assert!(refused(&[], 2).contains("--texts"), "one of both is needed");
    refused(&["--text", "a", "--texts", "b.txt"], 2);
    assert!(refused(&["--text", "a", "--target", "similarity"], 1).contains("give --text-b"));
    assert!(refused(&["--text", "a", "--target", "loss"], 1).contains("give --answer"));
    assert!(refused(&["--text", "a", "--answer", "b"], 1).contains("leave --answer out"));
}

#[test]
fn a_picture_of_which_nothing_is_left_says_why() {
    let model = tiny();
    let refused = |words: &[&str]| {
        let heatmap = ["heatmap", "--model", &model, "--head", "0.0", "--out", "never.png"];
        refusal(&[&heatmap[..], words].concat(), 1)
    };
    for segments in ["a-to-b", "b-to-a", "b-to-b"] {
        let error = refused(&["--text", "the cat", "--segments", segments]);
        assert!(error.contains("this is a single text: give a second text"), "{segments}: {error}");
    }
    assert!(refused(&["--text", "", "--special", "hide"]).contains("special tokens alone, and they are hidden"));
    let pair = ["--text", "the cat", "--text-b", "", "--special", "hide", "--segments", "a-to-b"];
    assert!(refused(&pair).contains("one of its segments has special tokens alone"));
    let crop = refused(&["--text", "the cat", "--queries", "3..9"]);
    assert!(crop.contains("there are no tokens 3..9: this picture has 0..4"), "{crop}");
}
