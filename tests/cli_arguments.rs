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
