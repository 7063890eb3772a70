//! Where models are sought.

use std::path::{Path, PathBuf};

use directories::ProjectDirs;

use super::ModelError;

/// The model used when none is named; `cargo xtask setup` fetches it.
pub const DEFAULT_MODEL: &str = "all-MiniLM-L6-v2";

/// The folders whose sub-folders are models: `HEADLIGHT_MODELS` if set, then the user's data folder.
pub fn model_folders() -> Vec<PathBuf> {
    let set = std::env::var_os("HEADLIGHT_MODELS").filter(|value| !value.is_empty()).map(PathBuf::from);
    let own = ProjectDirs::from("", "", "headlight").map(|dirs| dirs.data_dir().join("models"));
    set.into_iter().chain(own).collect()
}

/// A model's folder: a path as it is, else the name of a model in one of the model folders; without a name the
/// default.
///
/// # Errors
/// [`ModelError::NotFound`] with the places that were looked at.
pub fn find_model(name: Option<&Path>) -> Result<PathBuf, ModelError> {
    let name = name.unwrap_or(Path::new(DEFAULT_MODEL));
    if name.is_dir() {
        return Ok(name.to_owned());
    }
    let sought: Vec<PathBuf> = model_folders().into_iter().map(|folder| folder.join(name)).collect();
    match sought.iter().find(|path| path.is_dir()) {
        Some(found) => Ok(found.clone()),
        None => Err(ModelError::NotFound { name: name.display().to_string(), sought }),
    }
}

/// The models in the model folders, by name; of two with one name, the first found.
pub fn list_models() -> Vec<(String, PathBuf)> {
    let mut found: Vec<(String, PathBuf)> = Vec::new();
    for folder in model_folders() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let known = found.iter().any(|(other, _)| *other == name);
            if !known && entry.path().join("config.json").is_file() {
                found.push((name, entry.path()));
            }
        }
    }
    found.sort();
    found
}
