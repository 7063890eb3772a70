//! What a sentence model's texts are to begin with.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::ModelError;
use super::modules::read;
use crate::run::Prefix;

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
