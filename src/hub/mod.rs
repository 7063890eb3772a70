//! Fetching a model from the Hugging Face hub, or a mirror of it, into the cache that all its programs share.
//!
//! `hf-hub` does the talking. What it does not do is done here: a file is held against the length and, where the hub
//! gives one, the SHA-256 that were promised, before the model counts as there; a download can be given up and gone on
//! with; and only weights, config and tokenizer are fetched.

mod variables;

use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};

use hf_hub::api::sync::{ApiBuilder, ApiError, ApiRepo, Metadata};
use hf_hub::{Cache, Repo, RepoType};
use sha2::{Digest, Sha256};

use crate::text::TOKENIZER_FILES;
pub use variables::{cache_folder, hides_progress};

/// What to fetch, and from where.
#[derive(Debug, Clone, Default)]
pub struct Fetch {
    /// `OWNER/NAME`, or `NAME` alone.
    pub model: String,
    /// A branch, tag or commit; `main` where there is none.
    pub revision: Option<String>,
    /// Another server than the one in `HF_ENDPOINT`, or the hub.
    pub endpoint: Option<String>,
    /// Another cache than the one that the variables name, or the user's.
    pub cache: Option<PathBuf>,
}

/// How far a fetch has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// The file under way.
    pub file: String,
    pub bytes: u64,
    /// All bytes of that file.
    pub of: u64,
    /// Files done, and all of them.
    pub files: (usize, usize),
}

/// Why a model could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    #[error("“{0}” is no name of a model: write OWNER/NAME, or NAME alone")]
    BadName(String),
    #[error("the hub has no model {0}, or not in that revision, or only for those who may see it (set HF_TOKEN)")]
    NotFound(String),
    #[error("the hub does not let you have {0}: set HF_TOKEN to a token of an account that may see it")]
    Forbidden(String),
    #[error("{0} holds no weights that can be opened: neither safetensors nor pytorch_model.bin")]
    NoWeights(String),
    #[error("the hub cannot be reached, or broke off: {0}; the same command goes on where it stopped")]
    Unreachable(String),
    #[error("what came of {file} is not what the hub promised ({cause}), and has been thrown away; try again")]
    NotAsPromised { file: String, cause: String },
    #[error("the hub's answer cannot be used: {0}")]
    Nonsense(String),
    #[error("cannot write {}: {cause}", path.display())]
    CannotWrite { path: PathBuf, cause: String },
    #[error("{name} cannot be followed: {cause}")]
    BadVariable { name: &'static str, cause: String },
    #[error("{variable} forbids the network, and {model} is not whole in the cache {}: unset it to fetch the model", cache.display())]
    Offline { variable: &'static str, model: String, cache: PathBuf },
    #[error("there is no folder for the hub's cache: name one in HF_HOME")]
    NoCache,
    #[error("given up; what has come is kept, and the same command goes on from there")]
    Cancelled,
}

/// Carried by the unwinding that ends a download which nobody wants any more: `hf-hub` knows no other way to stop.
struct GivenUp;

impl Fetch {
    /// Fetches the model and gives its folder. `progress` is called now and then; false gives up.
    ///
    /// # Errors
    /// [`HubError`] with the cause, and what to do about it.
    pub fn run(&self, progress: &mut dyn FnMut(&Fetched) -> bool) -> Result<PathBuf, HubError> {
        if !is_name(&self.model) {
            return Err(HubError::BadName(self.model.clone()));
        }
        let revision = self.revision.clone().unwrap_or_else(|| "main".to_owned());
        let cache = Cache::new(self.cache.clone().or_else(cache_folder).ok_or(HubError::NoCache)?);
        if let Some(variable) = variables::offline() {
            return self.kept(&cache, &revision, variable);
        }
        let repo = Repo::with_revision(self.model.clone(), RepoType::Model, revision);
        let api = self.api(&cache)?;
        let remote = api.repo(repo.clone());
        let info = remote.info().map_err(|error| self.explain(&error))?;
        let names = info.siblings.into_iter().map(|sibling| sibling.rfilename);
        let wanted = wanted(names.collect()).ok_or_else(|| HubError::NoWeights(self.model.clone()))?;
        let mut folder = None;
        for (done, file) in wanted.iter().enumerate() {
            let mut tell =
                |bytes, of| progress(&Fetched { file: file.clone(), bytes, of, files: (done, wanted.len()) });
            let metadata = api.metadata(&remote.url(file)).map_err(|error| self.explain(&error))?;
            let place = cache.repo(repo.clone()).pointer_path(checked(metadata.commit_hash())?);
            checked(metadata.etag())?;
            let target = place.join(file);
            if fs::metadata(&target).is_ok_and(|there| there.len() == metadata.size() as u64) {
                if !tell(metadata.size() as u64, metadata.size() as u64) {
                    return Err(HubError::Cancelled);
                }
            } else {
                self.one(&remote, file, &metadata, &target, &mut tell)?;
            }
            folder = Some(place);
        }
        folder.ok_or_else(|| HubError::NoWeights(self.model.clone()))
    }

    /// The folder of a model that was fetched before: without the network there is no other.
    fn kept(&self, cache: &Cache, revision: &str, variable: &'static str) -> Result<PathBuf, HubError> {
        let missing = || HubError::Offline { variable, model: self.model.clone(), cache: cache.path().clone() };
        let repository = cache.path().join(format!("models--{}", self.model.replace('/', "--")));
        // A revision is a name of ours to look up, and no way out of the cache.
        if Path::new(revision).components().any(|part| !matches!(part, std::path::Component::Normal(_))) {
            return Err(missing());
        }
        let commit = fs::read_to_string(repository.join("refs").join(revision)).unwrap_or_else(|_| revision.to_owned());
        let folder = repository.join("snapshots").join(checked(commit.trim()).map_err(|_| missing())?);
        // Its config comes last.
        if folder.join("config.json").is_file() { Ok(folder) } else { Err(missing()) }
    }

    fn api(&self, cache: &Cache) -> Result<hf_hub::api::sync::Api, HubError> {
        variables::check_proxies()?;
        let mut builder = ApiBuilder::from_cache(cache.clone()).with_progress(false).with_retries(2);
        builder = builder.with_token(variables::token());
        let endpoint = match &self.endpoint {
            Some(endpoint) => Some(endpoint.clone()),
            None => variables::endpoint()?,
        };
        if let Some(endpoint) = endpoint {
            builder = builder.with_endpoint(endpoint);
        }
        builder.build().map_err(|error| self.explain(&error))
    }

    /// Fetches one file, holds it against what was promised, and if it is something else tries once more from its start:
    /// a server that does not know how to go on sends everything again, which is then behind what was there.
    fn one(
        &self,
        remote: &ApiRepo,
        file: &str,
        metadata: &Metadata,
        target: &Path,
        tell: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<(), HubError> {
        let mut again = true;
        loop {
            let outcome =
                catch_unwind(AssertUnwindSafe(|| remote.download_with_progress(file, Watch { bytes: 0, of: 0, tell })));
            match outcome {
                Ok(Ok(_)) => {}
                Ok(Err(error)) if again && matches!(error, ApiError::InvalidResume) => {
                    forget(target, metadata.etag());
                    again = false;
                    continue;
                }
                Ok(Err(error)) => return Err(self.explain(&error)),
                Err(unwound) if unwound.is::<GivenUp>() => return Err(HubError::Cancelled),
                Err(_) => return Err(HubError::Nonsense(format!("it could not be read while {file} was fetched"))),
            }
            match as_promised(target, metadata) {
                Ok(()) => return Ok(()),
                Err(cause) => {
                    forget(target, metadata.etag());
                    if !again {
                        return Err(HubError::NotAsPromised { file: file.to_owned(), cause });
                    }
                    again = false;
                }
            }
        }
    }

    fn explain(&self, error: &ApiError) -> HubError {
        let status = |error: &ApiError| match error {
            ApiError::RequestError(cause) => match **cause {
                ureq::Error::StatusCode(status) => Some(status),
                _ => None,
            },
            _ => None,
        };
        match (status(error), error) {
            (Some(404), _) => HubError::NotFound(self.model.clone()),
            (Some(401 | 403), _) => HubError::Forbidden(self.model.clone()),
            (_, ApiError::IoError(cause)) if cause.kind() == io::ErrorKind::StorageFull => {
                HubError::CannotWrite { path: self.cache.clone().unwrap_or_default(), cause: cause.to_string() }
            }
            (_, ApiError::MissingHeader(_) | ApiError::InvalidHeader(_) | ApiError::ParseIntError(_)) => {
                HubError::Nonsense(error.to_string())
            }
            _ => HubError::Unreachable(crate::run::one_line(error)),
        }
    }
}

/// Passes progress on, and unwinds once the reader has given up.
struct Watch<'a> {
    bytes: u64,
    of: u64,
    tell: &'a mut dyn FnMut(u64, u64) -> bool,
}

impl hf_hub::api::Progress for Watch<'_> {
    fn init(&mut self, size: usize, _filename: &str) {
        (self.bytes, self.of) = (0, size as u64);
    }

    fn update(&mut self, size: usize) {
        self.bytes += size as u64;
        if !(self.tell)(self.bytes, self.of) {
            // Without a message: this is no fault.
            resume_unwind(Box::new(GivenUp));
        }
    }

    fn finish(&mut self) {}
}

/// `OWNER/NAME` or `NAME`, of letters, digits and a few signs, and nothing that a path could go astray by.
fn is_name(name: &str) -> bool {
    let plain = |part: &str| {
        let signs = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        !part.is_empty()
            && part.len() < 200
            && part.chars().all(signs)
            && !part.starts_with('.')
            && !part.contains("..")
    };
    let parts: Vec<&str> = name.split('/').collect();
    parts.len() <= 2 && parts.into_iter().all(plain)
}

/// What a server gives as a hash becomes the name of a file: letters, digits and hyphens alone may.
fn checked(hash: &str) -> Result<&str, HubError> {
    let plain = !hash.is_empty() && hash.len() < 200 && hash.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    plain.then_some(hash).ok_or_else(|| HubError::Nonsense(format!("“{hash}” is no hash")))
}

/// Weights, config and tokenizer among a repository's files: `config.json` last, since a folder counts as a model once it
/// is there. `None` without weights.
fn wanted(names: Vec<String>) -> Option<Vec<String>> {
    const BESIDE: [&str; 4] =
        ["modules.json", "sentence_bert_config.json", "config_sentence_transformers.json", "1_Pooling/config.json"];
    let has = |name: &str| names.iter().any(|own| own == name);
    let shards = |start: &str, end: &str| -> Vec<String> {
        let of = |name: &&String| name.starts_with(start) && name.ends_with(end) && !name.contains('/');
        names.iter().filter(of).cloned().collect()
    };
    let weights = if has("model.safetensors") {
        vec!["model.safetensors".to_owned()]
    } else if has("model.safetensors.index.json") {
        [shards("model-", ".safetensors"), vec!["model.safetensors.index.json".to_owned()]].concat()
    } else if has("pytorch_model.bin") {
        vec!["pytorch_model.bin".to_owned()]
    } else if has("pytorch_model.bin.index.json") {
        [shards("pytorch_model-", ".bin"), vec!["pytorch_model.bin.index.json".to_owned()]].concat()
    } else {
        return None;
    };
    let beside = TOKENIZER_FILES.into_iter().chain(BESIDE).filter(|name| has(name)).map(str::to_owned);
    Some(weights.into_iter().chain(beside).chain(has("config.json").then(|| "config.json".to_owned())).collect())
}

/// Whether a file has the length, and where its hash is a SHA-256 that, which were promised.
fn as_promised(file: &Path, metadata: &Metadata) -> Result<(), String> {
    let mut reader = fs::File::open(file).map_err(|error| error.to_string())?;
    let mut hash = Sha256::new();
    let bytes = io::copy(&mut reader, &mut hash).map_err(|error| error.to_string())?;
    if bytes != metadata.size() as u64 {
        return Err(format!("{bytes} bytes and not {}", metadata.size()));
    }
    // Large files go by their SHA-256, small ones by git's own hash, which is another.
    let etag = metadata.etag();
    let found: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    if etag.len() == 64 && !etag.eq_ignore_ascii_case(&found) {
        return Err("another SHA-256".into());
    }
    Ok(())
}

/// Removes a file with what it points to, and what was left of its download.
fn forget(target: &Path, etag: &str) {
    fs::remove_file(target).ok();
    // …/models--NAME/snapshots/COMMIT/FILE beside …/models--NAME/blobs/HASH
    let repository = target.ancestors().find(|folder| folder.ends_with("snapshots")).and_then(Path::parent);
    if let Some(blobs) = repository.map(|repository| repository.join("blobs")) {
        for name in [etag.to_owned(), format!("{etag}.sync.part")] {
            fs::remove_file(blobs.join(name)).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn names_that_are_paths_are_refused() {
        for name in ["bert-base-uncased", "google/bert_tiny.v1", "a/b"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "/", "a/", "../x", "a/../b", "a/b/c", ".hidden", "a b", "a\\b", "https://x/y", "a..b"] {
            assert!(!is_name(name), "{name}");
        }
        assert!(checked("../../x").is_err() && checked("").is_err() && checked("0a1b-2").is_ok());
    }

    #[test]
    fn only_weights_config_and_tokenizer_are_wanted_and_the_config_comes_last() {
        let all = names(&[
            "config.json",
            "README.md",
            "model.safetensors",
            "pytorch_model.bin",
            "tf_model.h5",
            "onnx/model.onnx",
            "vocab.txt",
            "../evil",
            "1_Pooling/config.json",
        ]);
        assert_eq!(wanted(all).unwrap(), ["model.safetensors", "vocab.txt", "1_Pooling/config.json", "config.json"]);
        let shards = names(&["model-1-of-2.safetensors", "model-2-of-2.safetensors", "model.safetensors.index.json"]);
        assert_eq!(wanted(shards.clone()).unwrap(), shards);
        assert!(wanted(names(&["config.json", "tf_model.h5"])).is_none());
    }
}
