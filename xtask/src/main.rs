//! `cargo xtask`: sets up a fresh machine, then builds, runs and tests Headlight.

mod cargo;
mod doctor;
mod e5;
mod libtorch;
mod models;
mod pip;
mod places;
mod screenshots;
mod unpack;

use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, ExitCode, ExitStatus};

use anyhow::{Context, Result};

const USAGE: &str = "usage: cargo xtask COMMAND

  run [WORDS…]     set up, build in release mode and run headlight with these words
  test [WORDS…]    set up and run every test (words go to the test runner)
  setup            fetch libtorch and the default model if they are missing
  model NAME       fetch one model of models/catalogue.json
  doctor           say what was found: compiler, libtorch, devices, models, fonts, display
  screenshots      draw screenshots/ with the real program under Xvfb";

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let command = words.next().and_then(|word| word.into_string().ok()).unwrap_or_default();
    let words: Vec<OsString> = words.collect();
    let outcome = match command.as_str() {
        "run" => run(&words),
        "test" => prepare().and_then(|libtorch| Ok(exit_code(cargo::test(&libtorch, &words)?))),
        "setup" => prepare().map(|_| ExitCode::SUCCESS),
        "model" if words.len() == 1 => model(&words[0].to_string_lossy()).map(|()| ExitCode::SUCCESS),
        "doctor" => doctor::report().map(|()| ExitCode::SUCCESS),
        "screenshots" => prepare().and_then(|libtorch| screenshots::take(&libtorch)).map(|()| ExitCode::SUCCESS),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("xtask: {error:#}");
        ExitCode::FAILURE
    })
}

/// Fetches what is missing and tells cargo where libtorch is.
fn prepare() -> Result<PathBuf> {
    cargo::check_compiler()?;
    let _one_at_a_time = lock()?;
    let libtorch = libtorch::ensure()?;
    cargo::configure(&libtorch)?;
    let catalogue = models::catalogue()?;
    models::ensure(catalogue.entry(&catalogue.default)?)?;
    Ok(libtorch)
}

fn model(name: &str) -> Result<()> {
    let _one_at_a_time = lock()?;
    models::ensure(models::catalogue()?.entry(name)?).map(drop)
}

/// Keeps two clones from fetching the same thing at once.
fn lock() -> Result<File> {
    let cache = places::cache()?;
    std::fs::create_dir_all(&cache).map_err(|error| unpack::disk_error(&cache, error))?;
    let path = cache.join("xtask.lock");
    let file = File::create(&path).map_err(|error| unpack::disk_error(&path, error))?;
    if file.try_lock().is_err() {
        println!("waiting for another xtask to finish its set-up");
        file.lock().context("the lock on the cache folder cannot be had")?;
    }
    Ok(file)
}

fn run(words: &[OsString]) -> Result<ExitCode> {
    let libtorch = prepare()?;
    let program = cargo::build(&libtorch)?;
    let mut command = Command::new(&program);
    command.args(words);
    if cfg!(windows) {
        // Windows knows no run path: its loader looks through PATH.
        let mut paths = vec![libtorch.join("lib")];
        paths.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        command.env("PATH", std::env::join_paths(paths)?);
    }
    let status = command.status().with_context(|| format!("{} could not be started", program.display()))?;
    Ok(exit_code(status))
}

/// The exit code of a child, passed on; a signal becomes 128 + its number, as shells do.
fn exit_code(status: ExitStatus) -> ExitCode {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return ExitCode::from(128u8.wrapping_add(signal as u8));
    }
    let code = status.code().unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
