//! The walls of the house, as ARCHITECTURE.md draws them: which module may name which.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

mod support;

use std::path::{Path, PathBuf};

use support::clone_root;

/// What each module may name of the other modules.
const MAY_USE: [(&str, &[&str]); 9] = [
    ("run", &[]),
    ("text", &["run"]),
    ("metrics", &["run"]),
    ("figure", &["run", "metrics"]),
    ("session", &["run"]),
    ("hub", &["run", "text"]),
    ("model", &["run", "text", "hub"]),
    ("engine", &["model", "run", "text"]),
    ("lab", &["engine", "model", "metrics", "run"]),
];

/// The window may name everything but the model and tensors.
const NOT_IN_GUI: [&str; 1] = ["model"];

const TENSORS: [&str; 3] = ["model", "engine", "lab"];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            found.push(path);
        }
    }
    found
}

/// A file's top-level module and its text without comments.
fn modules() -> Vec<(String, PathBuf, String)> {
    let root = clone_root().join("src");
    sources(&root)
        .into_iter()
        .map(|path| {
            let first = path.strip_prefix(&root).unwrap().components().next().unwrap();
            let module = first.as_os_str().to_string_lossy().trim_end_matches(".rs").to_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            (module, path, code.join("\n"))
        })
        .collect()
}

/// The modules of ours that a text names, as `crate::NAME` or in a `use crate::{NAME, …}`.
fn named(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for rest in code.split("crate::").skip(1) {
        if let Some(group) = rest.strip_prefix('{') {
            let group = group.split(';').next().unwrap_or_default();
            found.extend(group.split([',', '{', '}']).map(|part| word(part.trim())));
        } else {
            found.push(word(rest));
        }
    }
    found
}

fn word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

#[test]
fn only_the_model_side_names_tensors() {
    for (module, file, code) in modules() {
        let path = code.match_indices("tch::").any(|(at, _)| !code[..at].ends_with(|c: char| c.is_alphanumeric()));
        let names = path || code.contains("use tch") || code.contains("torch_sys");
        assert!(!names || TENSORS.contains(&module.as_str()), "{} names tch", file.display());
    }
}

#[test]
fn each_module_names_only_what_it_may() {
    let all: Vec<&str> = MAY_USE.iter().map(|(module, _)| *module).chain(["gui", "cli"]).collect();
    for (module, path, code) in modules() {
        let named = named(&code);
        for other in named.iter().filter(|name| all.contains(&name.as_str()) && **name != module) {
            let other = other.as_str();
            let allowed = match MAY_USE.iter().find(|(name, _)| *name == module) {
                Some((_, may)) => may.contains(&other),
                None if module == "gui" => !NOT_IN_GUI.contains(&other) && other != "cli",
                None => true, // cli, lib and main
            };
            assert!(allowed, "{} names {other}", path.display());
        }
    }
}

#[test]
fn the_reader_of_use_lines_sees_what_it_should() {
    assert_eq!(named("use crate::run::Run;"), ["run"]);
    assert!(named("use crate::{engine::Link, model};").contains(&"model".to_owned()));
    assert!(modules().len() > 20, "the sources were not found");
}

#[test]
fn xtask_never_depends_on_tch() {
    let text = std::fs::read_to_string(clone_root().join("xtask/Cargo.toml")).unwrap();
    let names: Vec<&str> = text.lines().filter_map(|line| line.split(['=', '.']).next()).map(str::trim).collect();
    assert!(names.contains(&"anyhow"), "the dependencies were not found");
    assert!(!names.iter().any(|name| ["tch", "torch-sys", "headlight"].contains(name)));
}
