//! The program as a process.
#![allow(dead_code)] // each binary uses its own part

use std::path::Path;
use std::process::{Command, Output};

pub fn headlight(arguments: &[&str]) -> Output {
    headlight_in(Path::new("."), arguments)
}

pub fn headlight_in(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_headlight"))
        .current_dir(folder)
        .args(arguments)
        .env("RUST_BACKTRACE", "1") // errors are one line even so
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("WAYLAND_SOCKET")
        .output()
        .unwrap()
}

/// The one line that a failing call writes to standard error.
pub fn refusal(arguments: &[&str], code: i32) -> String {
    let output = headlight(arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
    assert!(output.stdout.is_empty(), "{arguments:?} wrote to standard output");
    assert_eq!(error.lines().count(), 1, "{arguments:?}: {error}");
    assert!(error.starts_with("headlight: "), "{error}");
    error
}

pub fn success(arguments: &[&str]) -> (String, String) {
    let output = headlight(arguments);
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {err}");
    (out, err)
}

pub fn tiny() -> String {
    crate::support::tiny_model().display().to_string()
}
