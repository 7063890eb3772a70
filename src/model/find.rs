//! Where models are sought.

use std::path::{Path, PathBuf};

use directories::ProjectDirs;

use super::ModelError;
use crate::hub::cache_folder;

/// The model used when none is named; `cargo xtask setup` fetches it.
pub const DEFAULT_MODEL: &str = "all-MiniLM-L6-v2";

/// The folders whose sub-folders are models: `HEADLIGHT_MODELS` if set, then the user's data folder.
pub fn model_folders() -> Vec<PathBuf> {
    let set = std::env::var_os("HEADLIGHT_MODELS").filter(|value| !value.is_empty()).map(PathBuf::from);
    let own = ProjectDirs::from("", "", "headlight").map(|dirs| dirs.data_dir().join("models"));
    set.into_iter().chain(own).collect()
}

/// The folder of a model in the hub's cache, `NAME` or `OWNER/NAME`: the snapshot that its main branch points to, else
/// any that is whole.
fn in_hub_cache(cache: &Path, name: &str) -> Option<PathBuf> {
    // Two names and no path: nothing outside the cache is looked at.
    let parts: Vec<&str> = name.split('/').collect();
    let plain = |part: &&str| !part.is_empty() && *part != "." && *part != ".." && !part.contains('\\');
    if parts.len() > 2 || !parts.iter().all(plain) {
        return None;
    }
    let repository = cache.join(format!("models--{}", parts.join("--")));
    let snapshots = repository.join("snapshots");
    let main = std::fs::read_to_string(repository.join("refs/main")).ok();
    let main = main.map(|commit| snapshots.join(commit.trim()));
    let any = || {
        let mut all: Vec<PathBuf> = std::fs::read_dir(&snapshots).ok()?.flatten().map(|entry| entry.path()).collect();
        all.sort();
        all.into_iter().find(|snapshot| is_model(snapshot))
    };
    main.filter(|snapshot| is_model(snapshot)).or_else(any)
}

/// The folder of a model that is named by its folder, or by the file of its weights in it.
pub(super) fn folder_of(place: &Path) -> &Path {
    match place.parent() {
        Some(parent) if place.is_file() => parent,
        _ => place,
    }
}

fn is_model(folder: &Path) -> bool {
    folder.join("config.json").is_file()
}

/// Where a model is: the path of a folder, or of a file of weights in it, as it is, else the name of a model in one of the model folders or in the hub's cache;
/// without a name the default.
///
/// # Errors
/// [`ModelError::NotFound`] with the places that were looked at.
pub fn find_model(name: Option<&Path>) -> Result<PathBuf, ModelError> {
    let name = name.unwrap_or(Path::new(DEFAULT_MODEL));
    if name.is_dir() || name.is_file() {
        return Ok(name.to_owned());
    }
    let mut sought: Vec<PathBuf> = model_folders().into_iter().map(|folder| folder.join(name)).collect();
    if let Some(found) = sought.iter().find(|path| path.is_dir()) {
        return Ok(found.clone());
    }
    let cache = cache_folder();
    match cache.as_deref().zip(name.to_str()).and_then(|(cache, name)| in_hub_cache(cache, name)) {
        Some(found) => Ok(found),
        None => {
            sought.extend(cache);
            Err(ModelError::NotFound { name: name.display().to_string(), sought })
        }
    }
}

/// The models in the model folders and in the hub's cache, by name; of two with one name, the first found.
pub fn list_models() -> Vec<(String, PathBuf)> {
    let mut found: Vec<(String, PathBuf)> = Vec::new();
    for folder in model_folders() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let known = found.iter().any(|(other, _)| *other == name);
            if !known && is_model(&entry.path()) {
                found.push((name, entry.path()));
            }
        }
    }
    let cache = cache_folder().unwrap_or_default();
    for entry in std::fs::read_dir(&cache).into_iter().flatten().flatten() {
        let folder = entry.file_name().to_string_lossy().into_owned();
        // The hub's names hold no double hyphen but the one between owner and name.
        let Some(name) = folder.strip_prefix("models--").map(|name| name.replacen("--", "/", 1)) else { continue };
        let known = found.iter().any(|(other, _)| *other == name);
        if let Some(snapshot) = in_hub_cache(&cache, &name).filter(|_| !known) {
            found.push((name, snapshot));
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_in_the_hubs_cache_are_found_by_their_name_and_nothing_else_is() {
        let cache = tempfile::tempdir().unwrap();
        let make = |path: &str| {
            let folder = cache.path().join(path);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("config.json"), "{}").unwrap();
            folder
        };
        let old = make("models--google--bert-tiny/snapshots/aaa");
        let new = make("models--google--bert-tiny/snapshots/bbb");
        make("other");
        assert_eq!(in_hub_cache(cache.path(), "google/bert-tiny"), Some(old.clone()));
        std::fs::create_dir_all(cache.path().join("models--google--bert-tiny/refs")).unwrap();
        std::fs::write(cache.path().join("models--google--bert-tiny/refs/main"), "bbb\n").unwrap();
        assert_eq!(in_hub_cache(cache.path(), "google/bert-tiny"), Some(new));
        std::fs::write(cache.path().join("models--google--bert-tiny/refs/main"), "gone").unwrap();
        assert_eq!(in_hub_cache(cache.path(), "google/bert-tiny"), Some(old));
        for name in ["", "..", "../other", "google/../other", "a/b/c", "google/", "other"] {
            assert_eq!(in_hub_cache(cache.path(), name), None, "{name}");
        }
    }
}
