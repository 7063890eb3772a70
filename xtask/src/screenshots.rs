//! Draws `screenshots/` with the real program under Xvfb.

use std::process::Command;

use anyhow::{Result, bail};

use crate::{cargo, places};

/// Runs the test that opens the program and photographs it, then makes the files small where `optipng` is installed.
pub fn take(libtorch: &std::path::Path) -> Result<()> {
    let folder = places::workspace().join("screenshots");
    std::fs::create_dir_all(&folder)?;
    let status = cargo::command(libtorch)
        .args(["test", "--release", "--test", "desktop", "--", "--ignored", "--exact", "screenshots"])
        .env("HEADLIGHT_SCREENSHOTS", &folder)
        .status()?;
    if !status.success() {
        bail!("the pictures could not be taken; the reason is above");
    }
    for entry in std::fs::read_dir(&folder)?.flatten() {
        let optimised = Command::new("optipng").args(["-quiet", "-o5"]).arg(entry.path()).status();
        if !optimised.is_ok_and(|status| status.success()) {
            println!("optipng is not installed, so the pictures stay large; `sudo apt install optipng` brings it");
            break;
        }
    }
    println!("the pictures are in {}: look at each of them", folder.display());
    Ok(())
}
