//! Where things are kept: one cache and one data folder a user, shared by all clones.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use directories::ProjectDirs;

fn project_dirs() -> Result<ProjectDirs> {
    ProjectDirs::from("", "", "headlight").context(
        "no home folder is known for this user, so there is nowhere to keep libtorch and models; set HOME and try again",
    )
}

/// libtorch and half-finished downloads.
pub fn cache() -> Result<PathBuf> {
    Ok(project_dirs()?.cache_dir().to_owned())
}

/// Models: `HEADLIGHT_MODELS`, else the user's data folder, as the program itself seeks them.
pub fn models() -> Result<PathBuf> {
    match std::env::var_os("HEADLIGHT_MODELS") {
        Some(folder) if !folder.is_empty() => Ok(PathBuf::from(folder)),
        _ => Ok(project_dirs()?.data_dir().join("models")),
    }
}

/// The root of the clone that this call is for.
///
/// Cargo says so when it runs this tool. What was compiled in may name another clone: those that share a target
/// directory share this binary.
pub fn workspace() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let here = PathBuf::from(here);
    here.parent().map_or_else(|| here.clone(), Path::to_owned)
}
