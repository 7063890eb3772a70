//! The command that the window copies, pasted into real shells, draws the same picture as the texts themselves.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

#[path = "support/program.rs"]
mod program;
#[path = "support/stage.rs"]
mod stage;
mod support;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use egui::{Event, Modifiers, PointerButton};
use egui_kittest::kittest::Queryable;
use headlight::run::{ModelInfo, Texts};
use program::{success, tiny};
use stage::Stage;

const TEXTS: [&str; 12] = [
    "two words",
    "- item one",
    "it didn't",
    "\u{2018}curly\u{2019} \u{201c}quotes\u{201d}",
    "say \"it's\" `now`",
    "$HOME ${x} $(ls) !! 50%27",
    "back\\slash\\",
    "a\nb\tc",
    "你好 👩‍👩‍👧 e\u{301}",
    "שלום \u{202e}abc",
    "a;b|c&d<e>f(g)h{i}[j]*?~#",
    "--percent-encoded",
];

/// What “Copy command” in the map's menu puts on the clipboard.
fn copied(texts: Texts) -> String {
    let info = ModelInfo { folder: tiny().into(), ..(*support::runs::model_info(2, 3)).clone() };
    let mut stage = Stage::with_model(Arc::new(info), texts);
    stage.play();
    let pos = stage.heatmap().rect().center();
    stage.harness.hover_at(pos);
    stage.harness.run();
    for pressed in [true, false] {
        let (button, modifiers) = (PointerButton::Secondary, Modifiers::NONE);
        stage.harness.event(Event::PointerButton { pos, button, pressed, modifiers });
    }
    stage.harness.run();
    stage.harness.get_by_label("Copy command").click();
    for _ in 0..5 {
        stage.harness.step();
        if let [text] = stage.copied().as_slice() {
            return text.clone();
        }
    }
    panic!("nothing was copied");
}

/// Runs a command line in a shell that finds the program; `None` if the shell is not on this system.
fn paste(shell: &str, command: &str, folder: &Path) -> Option<()> {
    let program = Path::new(env!("CARGO_BIN_EXE_headlight")).parent().unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(program.to_owned()).chain(std::env::split_paths(&path));
    let output = Command::new(shell)
        .args(["-c", command])
        .current_dir(folder)
        .env("PATH", std::env::join_paths(paths).unwrap())
        .output()
        .ok()?;
    assert!(output.status.success(), "{shell}: {command}: {}", String::from_utf8_lossy(&output.stderr));
    Some(())
}

#[test]
fn pasted_into_any_shell_it_draws_the_same_picture() {
    let folder = tempfile::tempdir().unwrap();
    let picture = folder.path().join("layer0-head00.png");
    let plain = folder.path().join("plain.png").display().to_string();
    for (at, text) in TEXTS.into_iter().enumerate() {
        // Every other one as a pair.
        let pair = (at % 2 == 1).then_some(text);
        let command = copied(Texts { a: text.to_owned(), b: pair.map(str::to_owned) });
        let model = tiny();
        let mut words = vec!["heatmap", "--model", &model, "--text", text, "--head", "0.0", "--out", &plain];
        words.extend(pair.iter().flat_map(|b| ["--text-b", b]));
        success(&words);
        let wanted = std::fs::read(&plain).unwrap();
        let mut shells = 0;
        for shell in ["sh", "bash", "zsh", "fish", "pwsh"] {
            if paste(shell, &command, folder.path()).is_some() {
                assert!(std::fs::read(&picture).unwrap() == wanted, "{shell}: {command}");
                std::fs::remove_file(&picture).unwrap();
                shells += 1;
            }
        }
        assert!(shells > 0 || cfg!(windows), "no shell was found");
    }
}

#[test]
fn what_is_percent_encoded_is_said_first() {
    let model = tiny();
    let head = ["--model", &model, "--head", "0.0", "--out", "never.png"];
    let late = [&["heatmap"][..], &head, &["--text", "it%27s", "--percent-encoded"]].concat();
    assert!(program::refusal(&late, 1).contains("stands right behind the sub-command"));
    let broken = [&["heatmap", "--percent-encoded"][..], &head, &["--text", "%ff"]].concat();
    assert!(program::refusal(&broken, 2).contains("“%ff” is no percent-encoded text"));
}
