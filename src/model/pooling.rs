//! How a sentence model makes one vector of its last hidden state, as its own files declare.

use std::collections::BTreeMap;
use std::path::Path;

use ndarray::{Array1, ArrayView2, Axis};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::ModelError;
use crate::run::{Embedding, Pooling, PoolingMode, Prefix, as_utf8};

#[derive(Debug, Deserialize)]
struct Module {
    path: String,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Stored {
    pooling_mode_cls_token: bool,
    pooling_mode_mean_tokens: bool,
    pooling_mode_max_tokens: bool,
}

/// Reads `modules.json` and the pooling module's `config.json`; without them the mean, marked as not declared.
pub(super) fn declared(folder: &Path) -> Result<Pooling, ModelError> {
    let Some(modules) = read::<Vec<Module>>(&folder.join("modules.json"))? else { return Ok(Pooling::default()) };
    let of_kind = |word: &str| modules.iter().find(|module| module.kind.rsplit('.').next() == Some(word));
    let Some(pooling) = of_kind("Pooling") else { return Ok(Pooling::default()) };
    // A path out of the folder is no path of a module.
    let inside = !pooling.path.contains("..") && !Path::new(&pooling.path).is_absolute();
    let stored: Option<Stored> = if inside { read(&folder.join(&pooling.path).join("config.json"))? } else { None };
    let Some(stored) = stored else { return Ok(Pooling::default()) };
    let modes = [
        (stored.pooling_mode_cls_token, PoolingMode::Cls),
        (stored.pooling_mode_mean_tokens, PoolingMode::Mean),
        (stored.pooling_mode_max_tokens, PoolingMode::Max),
    ];
    let mut chosen = modes.into_iter().filter(|(on, _)| *on).map(|(_, mode)| mode);
    match (chosen.next(), chosen.next()) {
        (Some(mode), None) => Ok(Pooling { mode, normalize: of_kind("Normalize").is_some(), declared: true }),
        // None of ours, or several joined end to end: say so rather than pretend.
        _ => Ok(Pooling::default()),
    }
}

/// What `config_sentence_transformers.json` says that texts begin with (`prompts`). E5 models say it in their description
/// alone: they are known by their name.
pub(super) fn prefixes(folder: &Path) -> Result<Vec<Prefix>, ModelError> {
    #[derive(Deserialize)]
    struct Prompts {
        prompts: Option<BTreeMap<String, String>>,
    }
    let stored: Option<Prompts> = read(&folder.join("config_sentence_transformers.json"))?;
    let named = stored.and_then(|stored| stored.prompts).unwrap_or_default().into_iter();
    let prefixes: Vec<Prefix> =
        named.filter(|(_, text)| !text.is_empty()).map(|(name, text)| Prefix { name, text }).collect();
    let absolute = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let name = absolute.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let is_e5 = name.split(|c: char| !c.is_alphanumeric()).any(|word| word == "e5");
    if !prefixes.is_empty() || !is_e5 {
        return Ok(prefixes);
    }
    Ok(["query", "passage"].map(|name| Prefix { name: name.into(), text: format!("{name}: ") }).to_vec())
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, ModelError> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(ModelError::Unreadable { path: path.to_owned(), cause: error.to_string() }),
    };
    serde_json::from_slice(&as_utf8(&bytes))
        .map(Some)
        .map_err(|error| ModelError::BadConfig { path: path.to_owned(), cause: error.to_string() })
}

/// The sentence's vector from the last hidden state `[token, hidden]` of a text without padding.
pub(super) fn embed(last: &ArrayView2<'_, f32>, pooling: Pooling) -> Embedding {
    let mut values: Array1<f32> = match pooling.mode {
        PoolingMode::Cls => last.row(0).to_owned(),
        PoolingMode::Mean => last.mean_axis(Axis(0)).unwrap_or_else(|| Array1::zeros(last.ncols())),
        PoolingMode::Max => last.fold_axis(Axis(0), f32::NEG_INFINITY, |most, value| most.max(*value)),
    };
    if pooling.normalize {
        // The guard of PyTorch's `normalize`.
        let length = values.dot(&values).sqrt().max(1e-12);
        values /= length;
    }
    Embedding { values, pooling }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    fn folder(modules: &str, pooling: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("modules.json"), modules).unwrap();
        std::fs::create_dir(folder.path().join("1_Pooling")).unwrap();
        std::fs::write(folder.path().join("1_Pooling/config.json"), pooling).unwrap();
        folder
    }

    const MODULES: &str = r#"[{"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]"#;

    #[test]
    fn takes_what_the_model_declares() {
        for (key, mode) in [
            ("pooling_mode_cls_token", PoolingMode::Cls),
            ("pooling_mode_mean_tokens", PoolingMode::Mean),
            ("pooling_mode_max_tokens", PoolingMode::Max),
        ] {
            let folder = folder(MODULES, &format!(r#"{{"{key}": true}}"#));
            assert_eq!(declared(folder.path()).unwrap(), Pooling { mode, normalize: false, declared: true });
        }
        let normalized = MODULES.replace(']', r#", {"path": "", "type": "sentence_transformers.models.Normalize"}]"#);
        assert!(declared(folder(&normalized, r#"{"pooling_mode_cls_token": true}"#).path()).unwrap().normalize);
    }

    #[test]
    fn without_a_declaration_it_is_the_mean_and_says_so() {
        assert_eq!(declared(tempfile::tempdir().unwrap().path()).unwrap(), Pooling::default());
        assert!(Pooling::default().describe().contains("not declared by the model"));
        let escaping = r#"[{"path": "../x", "type": "a.Pooling"}]"#;
        assert!(!declared(folder(escaping, "{}").path()).unwrap().declared);
    }

    #[test]
    fn prefixes_are_declared_or_those_of_e5() {
        let folder = tempfile::tempdir().unwrap();
        let inner = |name: &str| {
            let inner = folder.path().join(name);
            std::fs::create_dir_all(&inner).unwrap();
            inner
        };
        let texts = |folder: &Path| -> Vec<String> {
            prefixes(folder).unwrap().into_iter().map(|prefix| prefix.text).collect()
        };
        assert_eq!(texts(&inner("multilingual-e5-small")), ["query: ", "passage: "]);
        assert!(texts(&inner("bert-base5")).is_empty());
        let declared = inner("other");
        let json = r#"{"prompts": {"search": "find: ", "none": ""}}"#;
        std::fs::write(declared.join("config_sentence_transformers.json"), json).unwrap();
        assert_eq!(texts(&declared), ["find: "]);
    }

    #[test]
    fn pools_by_hand() {
        let last = array![[3.0, 0.0], [1.0, 8.0]];
        let with = |mode, normalize| embed(&last.view(), Pooling { mode, normalize, declared: true }).values;
        assert_eq!(with(PoolingMode::Cls, false), array![3.0, 0.0]);
        assert_eq!(with(PoolingMode::Mean, false), array![2.0, 4.0]);
        assert_eq!(with(PoolingMode::Max, false), array![3.0, 8.0]);
        assert_eq!(with(PoolingMode::Cls, true), array![1.0, 0.0]);
    }
}
