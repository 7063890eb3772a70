//! What several test binaries share.
#![allow(dead_code)] // each binary uses its own part

pub mod goldens;
pub mod runs;

use std::path::PathBuf;
use std::sync::Arc;

use headlight::model::{DEFAULT_MODEL, find_model};
use headlight::run::Texts;

/// The clone that the tests run for, told by cargo: what was compiled in may name another one, where clones share a
/// target directory.
pub fn clone_root() -> PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into()).into()
}

/// The small random BERT that lies in the repository.
pub fn tiny_model() -> PathBuf {
    clone_root().join("tests/golden/tiny-bert")
}

/// One of the small random models with a task head.
pub fn task_model(name: &str) -> PathBuf {
    clone_root().join("tests/golden/tasks").join(name)
}

/// The default model, which `cargo xtask setup` fetches. Without it a test that needs it says so and is skipped;
/// on a build machine (`CI=true`) it fails instead.
pub fn default_model() -> Option<PathBuf> {
    match find_model(None) {
        Ok(folder) => Some(folder),
        Err(error) if on_ci() => panic!("CI must have the default model: {error}"),
        Err(_) => {
            eprintln!("skipped: the model {DEFAULT_MODEL} is not here; `cargo xtask setup` fetches it");
            None
        }
    }
}

pub fn on_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true")
}

pub fn single(text: &str) -> Arc<Texts> {
    Arc::new(Texts::single(text))
}

/// A seeded source of randomness; a failing test's output names the seed.
pub fn seeded(seed: u64) -> fastrand::Rng {
    println!("seed {seed}");
    fastrand::Rng::with_seed(seed)
}
