//! Runs cargo on the workspace with libtorch in its configuration.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::{places, unpack};

pub const NO_COMPILER: &str = "no C++ compiler was found, and libtorch's wrapper is written in C++; \
     install one with `sudo apt install g++` (on macOS `xcode-select --install`) and run the same command again";

fn config_path() -> PathBuf {
    places::workspace().join(".cargo/local.toml")
}

/// The libtorch that an earlier set-up wrote into `.cargo/local.toml`.
pub fn remembered_libtorch() -> Option<PathBuf> {
    let text = fs::read_to_string(config_path()).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix("LIBTORCH = "))?;
    serde_json::from_str::<String>(value).ok().map(PathBuf::from)
}

/// Writes the git-ignored part of the Cargo configuration, so that plain `cargo build` finds libtorch too.
pub fn configure(libtorch: &Path) -> Result<()> {
    let libtorch = libtorch.to_str().context("the path of libtorch is not valid Unicode; move it to one that is")?;
    // A JSON string is a TOML basic string as well: both escape quotes and backslashes alike.
    let text = format!(
        "# Written by `cargo xtask`; git ignores it.\n[env]\nLIBTORCH = {}\n",
        serde_json::to_string(libtorch)?
    );
    let path = config_path();
    if fs::read_to_string(&path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    fs::write(&path, text).map_err(|error| unpack::disk_error(&path, error))
}

/// Says that there is no compiler before cargo spends minutes on finding out.
pub fn check_compiler() -> Result<()> {
    if cfg!(windows) {
        return Ok(()); // The `cc` crate finds MSVC through the registry, not through PATH.
    }
    let compiler = std::env::var_os("CXX").unwrap_or_else(|| OsString::from("c++"));
    let found = Command::new(&compiler).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if found.is_ok_and(|status| status.success()) { Ok(()) } else { bail!(NO_COMPILER) }
}

/// Builds the program in release mode and gives its path.
pub fn build(libtorch: &Path) -> Result<PathBuf> {
    // The whole workspace's features, as for tests: those of xtask's crates would else make two builds of tch and egui.
    let status = command(libtorch).args(["build", "--release", "--workspace", "--bin", "headlight"]).status()?;
    if !status.success() {
        bail!("the build failed; cargo's message is above");
    }
    let name = format!("headlight{}", std::env::consts::EXE_SUFFIX);
    Ok(target_directory(libtorch)?.join("release").join(name))
}

/// Runs every test: with nextest where it is installed. `words` go to the test runner.
pub fn test(libtorch: &Path, words: &[OsString]) -> Result<ExitStatus> {
    let nextest = Command::new("cargo").args(["nextest", "--version"]).output().is_ok_and(|out| out.status.success());
    let runner: &[&str] = if nextest { &["nextest", "run"] } else { &["test"] };
    let status = command(libtorch).args(runner).args(["--release", "--workspace"]).args(words).status()?;
    if !status.success() || !nextest || !words.is_empty() {
        return Ok(status);
    }
    // nextest leaves out the examples in doc comments.
    Ok(command(libtorch).args(["test", "--release", "--doc"]).status()?)
}

/// A cargo that works on this workspace.
pub fn command(libtorch: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.env("LIBTORCH", libtorch).current_dir(places::workspace());
    command
}

fn target_directory(libtorch: &Path) -> Result<PathBuf> {
    #[derive(Deserialize)]
    struct Metadata {
        target_directory: PathBuf,
    }
    let output = command(libtorch).args(["metadata", "--no-deps", "--format-version", "1"]).output()?;
    let metadata: Metadata = serde_json::from_slice(&output.stdout).context("cargo metadata gave no answer")?;
    Ok(metadata.target_directory)
}
