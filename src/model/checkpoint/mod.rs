//! The files that hold a model's weights: where each tensor lies, whatever the kind of file. Numbers are read when they
//! are asked for, one tensor at a time, so that a model takes little more memory than itself while it loads; nothing is
//! mapped, so that a file that is cut short meanwhile gives an error and no fault.

mod pickle;
mod pickle_machine;
mod safetensors;
mod torch;
mod weights;
mod wrapping;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use ::safetensors::Dtype;
use serde::Deserialize;

use super::ModelError;
use crate::run::as_utf8;
pub(super) use weights::{LayerNorm, Linear, LoadWatch, Seen, Weights};

/// The tensors of a checkpoint, which may be spread over several files.
#[derive(Debug)]
pub(super) struct Checkpoint {
    files: Vec<Source>,
    tensors: BTreeMap<String, Entry>,
    /// What stood in names and was taken off.
    wrappers: BTreeSet<String>,
    /// The encoder's names began as no class of `transformers` with a task head makes them.
    is_odd: bool,
}

#[derive(Debug)]
struct Source {
    path: PathBuf,
    file: File,
}

/// Where a tensor lies.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    file: usize,
    /// From the start of the file, in bytes.
    start: u64,
    pub dtype: Dtype,
    pub shape: Vec<usize>,
    /// Distances between neighbours along each dimension, in numbers; `None` where they lie in row-major order.
    strides: Option<Vec<usize>>,
}

/// Hears that so many bytes more have been read; its error ends the reading.
pub(super) type Heard<'a> = &'a dyn Fn(usize) -> Result<(), ModelError>;

/// How much is read at once: a table of words alone can be most of a model, and its reader wants to see it come, or to
/// stop it.
const STRETCH: usize = 16 << 20;

/// What one file holds, before it is joined to others.
type Tensors = Vec<(String, Entry)>;

/// The files that a folder's weights can be in, first come, first taken.
const WHOLE: [&str; 2] = ["model.safetensors", "pytorch_model.bin"];

impl Checkpoint {
    /// Finds a folder's weights: `model.safetensors` or `pytorch_model.bin`, whole or in shards with an index. A file is
    /// taken as it is.
    ///
    /// # Errors
    /// [`ModelError`] if there are none, or a file is not what its name says.
    pub fn open(folder: &Path) -> Result<Self, ModelError> {
        Self::find(folder).map_err(ModelError::told)
    }

    fn find(folder: &Path) -> Result<Self, ModelError> {
        if folder.is_file() {
            return Self::of_files(&[folder.to_owned()]);
        }
        for name in WHOLE {
            let (path, index) = (folder.join(name), folder.join(format!("{name}.index.json")));
            if path.is_file() {
                return Self::of_files(&[path]);
            }
            if index.is_file() {
                return Self::of_shards(folder, &index);
            }
        }
        Err(ModelError::NoWeights { folder: folder.to_owned(), others: others(folder) })
    }

    fn of_files(paths: &[PathBuf]) -> Result<Self, ModelError> {
        let mut checkpoint =
            Self { files: Vec::new(), tensors: BTreeMap::new(), wrappers: BTreeSet::new(), is_odd: false };
        for path in paths {
            let file = File::open(path).map_err(|error| unreadable(path, &error))?;
            let is_safetensors = path.extension().is_some_and(|ending| ending == "safetensors");
            let found = if is_safetensors { safetensors::tensors(&file) } else { torch::tensors(&file) };
            let found = found.map_err(|cause| ModelError::BadWeights { path: path.clone(), cause })?;
            let number = checkpoint.files.len();
            checkpoint.files.push(Source { path: path.clone(), file });
            checkpoint.tensors.extend(found.into_iter().map(|(name, entry)| (name, Entry { file: number, ..entry })));
        }
        Ok(checkpoint)
    }

    fn of_shards(folder: &Path, index: &Path) -> Result<Self, ModelError> {
        #[derive(Deserialize)]
        struct Index {
            weight_map: BTreeMap<String, String>,
        }
        let bad = |cause: String| ModelError::BadWeights { path: index.to_owned(), cause };
        let text = std::fs::read(index).map_err(|error| unreadable(index, &error))?;
        let Index { weight_map } = serde_json::from_slice(&as_utf8(&text)).map_err(|error| bad(error.to_string()))?;
        let mut names: Vec<&String> = weight_map.values().collect();
        names.sort();
        names.dedup();
        // A shard lies in the model's folder, whatever the index says.
        let plain = |name: &str| Path::new(name).file_name() == Some(name.as_ref()) && name != "..";
        if let Some(name) = names.iter().find(|name| !plain(name)) {
            return Err(bad(format!("it names “{name}”, which is no file of the model's folder")));
        }
        let paths: Vec<PathBuf> = names.iter().map(|name| folder.join(name)).collect();
        let mut checkpoint = Self::of_files(&paths)?;
        if let Some(name) = weight_map.keys().find(|name| !checkpoint.tensors.contains_key(*name)) {
            return Err(bad(format!("no shard holds {name}, which it names")));
        }
        checkpoint.tensors.retain(|name, _| weight_map.contains_key(name));
        Ok(checkpoint)
    }

    /// All tensors by name.
    pub fn tensors(&self) -> &BTreeMap<String, Entry> {
        &self.tensors
    }

    /// The names of its files.
    pub fn file_names(&self) -> Vec<String> {
        let name = |source: &Source| source.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.files.iter().map(name).collect()
    }

    /// All bytes of its files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().filter_map(|source| source.file.metadata().ok()).map(|metadata| metadata.len()).sum()
    }

    /// All bytes of its tensors.
    pub fn tensor_bytes(&self) -> usize {
        self.tensors.values().map(|entry| entry.span() * (entry.dtype.bitsize() / 8)).sum()
    }

    /// A tensor's numbers in row-major order, in the bytes of its kind.
    ///
    /// # Errors
    /// [`ModelError::Unreadable`] if the file cannot be read to its end, or the error of `heard`.
    pub fn read(&self, entry: &Entry, heard: Heard<'_>) -> Result<Vec<u8>, ModelError> {
        let size = entry.dtype.bitsize() / 8;
        let mut bytes = vec![0; entry.span() * size];
        self.fill(entry, &mut bytes, heard)?;
        Ok(match &entry.strides {
            None => bytes,
            Some(strides) => in_order(&bytes, &entry.shape, strides, size),
        })
    }

    /// A tensor's numbers as they lie in the file, into as many bytes.
    ///
    /// # Errors
    /// [`ModelError::Unreadable`] if the file cannot be read to its end, or the error of `heard`.
    pub fn fill(&self, entry: &Entry, bytes: &mut [u8], heard: Heard<'_>) -> Result<(), ModelError> {
        let source = &self.files[entry.file];
        let mut file = &source.file;
        let cannot = |error: std::io::Error| unreadable(&source.path, &error);
        file.seek(SeekFrom::Start(entry.start)).map_err(cannot)?;
        for stretch in bytes.chunks_mut(STRETCH) {
            file.read_exact(stretch).map_err(cannot)?;
            heard(stretch.len())?;
        }
        Ok(())
    }
}

impl Entry {
    /// The numbers lie one behind the other, in row-major order.
    pub fn is_in_order(&self) -> bool {
        self.strides.is_none()
    }

    /// How many numbers there are from the first to the last one.
    fn span(&self) -> usize {
        match &self.strides {
            _ if self.shape.contains(&0) => 0,
            None => self.shape.iter().product(),
            Some(strides) => {
                1 + self.shape.iter().zip(strides).map(|(size, stride)| (size - 1) * stride).sum::<usize>()
            }
        }
    }
}

/// What else in a folder holds weights, each with what is to be said of it.
fn others(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = (std::fs::read_dir(folder).into_iter().flatten().flatten())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let told = |name: &String| {
        let path = folder.join(name);
        let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        let what = match (name.as_str(), ending.as_str()) {
            ("adapter_model.safetensors" | "adapter_model.bin", _) => "an adapter: merge it into its model first",
            ("training_args.bin" | "optimizer.bin" | "optimizer.pt" | "scheduler.pt" | "scaler.pt", _) => return None,
            (name, _) if WHOLE.contains(&name) && !path.exists() => "a link to a file that is gone",
            (_, "safetensors" | "bin" | "pt" | "pth" | "ckpt") => "which can be opened by its own path",
            (_, "h5" | "index" | "pb") => "of TensorFlow: save it anew for PyTorch",
            (_, "msgpack") => "of Flax: save it anew for PyTorch",
            (_, "onnx") => "of ONNX, which keeps no weights by their names: take the model that it was made of",
            (_, "gguf" | "ggml") => "of llama.cpp: take the model that it was made of",
            (_, "ot") => "of rust-bert: save it anew for PyTorch",
            _ => return None,
        };
        Some(format!("{name}, {what}"))
    };
    names.iter().filter_map(told).take(3).collect()
}

fn unreadable(path: &Path, error: &std::io::Error) -> ModelError {
    ModelError::Unreadable { path: path.to_owned(), cause: error.to_string() }
}

/// Numbers of `size` bytes each, put in row-major order.
fn in_order(bytes: &[u8], shape: &[usize], strides: &[usize], size: usize) -> Vec<u8> {
    let count: usize = shape.iter().product();
    let mut ordered = Vec::with_capacity(count * size);
    let mut at = vec![0; shape.len()];
    for _ in 0..count {
        let place: usize = at.iter().zip(strides).map(|(index, stride)| index * stride).sum();
        ordered.extend_from_slice(&bytes[place * size..(place + 1) * size]);
        for (index, most) in at.iter_mut().zip(shape).rev() {
            *index += 1;
            if *index < *most {
                break;
            }
            *index = 0;
        }
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_lie_otherwise_are_put_in_order() {
        // [[0, 1, 2], [3, 4, 5]] kept column by column.
        assert_eq!(in_order(&[0, 3, 1, 4, 2, 5], &[2, 3], &[1, 2], 1), [0, 1, 2, 3, 4, 5]);
        assert_eq!(in_order(&[7, 8], &[2, 2], &[1, 0], 1), [7, 7, 8, 8], "a row may be one number, repeated");
        assert!(in_order(&[], &[0, 2], &[2, 1], 4).is_empty());
    }
}
