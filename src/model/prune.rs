//! Removing heads from a checkpoint for good: a new folder, either compact or of the same shape.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::checkpoint::Checkpoint;
use super::find::folder_of;
use super::{Config, ModelError};
use crate::run::{HeadId, Stored, as_utf8, end_of_links, write_tensors};

/// What a pruned folder looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PrunedShape {
    /// The heads' rows and columns are gone, and `pruned_heads` in the config says so, as `transformers` 4 wrote it.
    /// `transformers` 5 does not read such folders.
    #[default]
    Compact,
    /// Weights of the full size with the heads' columns of W_O at 0, which every version reads.
    Same,
}

/// Writes a copy of a model's folder without some heads. The new folder appears under its name only once it is whole.
///
/// # Errors
/// [`ModelError`] if the model cannot be read or shares its layers, a head is not there, `out` exists, or it cannot be
/// written.
pub fn prune(folder: &Path, heads: &BTreeSet<HeadId>, shape: PrunedShape, out: &Path) -> Result<(), ModelError> {
    let mut stored = can_prune(folder)?;
    let (family, _, config) = Config::with_stored(folder)?;
    for head in heads {
        head.within(config.layers, config.heads)?;
        if config.pruned.contains(head) {
            return Err(crate::run::RunError::PrunedHead(*head).into());
        }
    }
    // At the end of a link that leads to nothing yet, not in its place.
    let out = &end_of_links(out)?;
    if out.symlink_metadata().is_ok() {
        return Err(ModelError::CannotPrune {
            path: out.into(),
            cause: "there is something of that name already".into(),
        });
    }
    let rule = family.prune;
    if shape == PrunedShape::Compact && !rule.compact {
        return Err(ModelError::NoCompactForm { family: config.family });
    }
    let checkpoint = Checkpoint::open(folder)?.unwrapped(family.anchor, &family.base())?;
    let tensors: Vec<(String, Stored)> = (checkpoint.tensors().iter())
        .map(|(name, entry)| {
            let whole =
                Stored { dtype: entry.dtype, shape: entry.shape.clone(), bytes: checkpoint.read(entry, &|_| Ok(()))? };
            Ok((name.clone(), pruned(whole, &config, rule, heads, shape, name)?))
        })
        .collect::<Result<_, ModelError>>()?;
    if shape == PrunedShape::Compact {
        stored["pruned_heads"] = pruned_heads(&config.pruned | heads);
    }
    let failed = |cause: String| ModelError::CannotPrune { path: out.into(), cause };
    let partial = new_folder_beside(out).map_err(|error| failed(error.to_string()))?;
    let write = || -> Result<(), String> {
        copy_beside(folder_of(folder), &partial, 2)?;
        let config = serde_json::to_string_pretty(&stored).map_err(|error| error.to_string())? + "\n";
        std::fs::write(partial.join("config.json"), config).map_err(|error| error.to_string())?;
        let metadata = [("format".to_owned(), "pt".to_owned())].into();
        write_tensors(&partial.join("model.safetensors"), tensors, metadata)?;
        std::fs::rename(&partial, out).map_err(|error| error.to_string())
    };
    write().map_err(|cause| {
        std::fs::remove_dir_all(&partial).ok();
        failed(cause)
    })
}

/// A folder of a name that nothing had, beside a place where one is to be. Folders above it are made.
fn new_folder_beside(out: &Path) -> std::io::Result<PathBuf> {
    if let Some(parent) = out.parent() {
        std::fs::create_dir_all(parent)?;
    }
    for count in 0_u32.. {
        let name = format!("{}.part", std::process::id());
        let name = if count == 0 { name } else { format!("{count}.{name}") };
        let partial = out.with_added_extension(name);
        match std::fs::create_dir(&partial) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            made => return made.map(|()| partial),
        }
    }
    Err(std::io::ErrorKind::AlreadyExists.into())
}

/// Refuses a family of which single heads cannot be removed, whether or not it can be opened; gives the config.
///
/// # Errors
/// [`ModelError::SharedLayers`]; [`ModelError`] if the config cannot be read.
pub fn can_prune(folder: &Path) -> Result<Value, ModelError> {
    let path = folder_of(folder).join("config.json");
    let text = std::fs::read(&path)
        .map_err(|error| ModelError::Unreadable { path: path.clone(), cause: error.to_string() })?;
    let stored: Value = serde_json::from_slice(&as_utf8(&text))
        .map_err(|error| ModelError::BadConfig { path: path.clone(), cause: error.to_string() }.told())?;
    match Config::family_of(folder)? {
        family if family == "albert" => Err(ModelError::SharedLayers { family }),
        _ => Ok(stored),
    }
}

/// `{"0": [1], "3": [4, 5]}`
fn pruned_heads(heads: BTreeSet<HeadId>) -> Value {
    let mut layers: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for HeadId { layer, head } in heads {
        layers.entry(layer.to_string()).or_default().push(head);
    }
    serde_json::json!(layers)
}

/// Copies what lies beside the weights: tokenizer, pooling, licence.
fn copy_beside(from: &Path, to: &Path, depth: usize) -> Result<(), String> {
    const KINDS: [&str; 5] = ["json", "txt", "model", "md", ""];
    const MOST_BYTES: u64 = 256 << 20;
    for entry in std::fs::read_dir(from).map_err(|error| error.to_string())?.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let Ok(metadata) = std::fs::metadata(&path) else { continue };
        let kind = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        let of_weights = name.to_string_lossy().contains(".safetensors") || name.to_string_lossy().contains(".bin.");
        if metadata.is_dir() && depth > 1 && !name.to_string_lossy().starts_with('.') {
            let inner = to.join(&name);
            std::fs::create_dir_all(&inner).map_err(|error| error.to_string())?;
            copy_beside(&path, &inner, depth - 1)?;
            // A folder of other weights only, such as `onnx`, leaves nothing behind.
            std::fs::remove_dir(&inner).ok();
        } else if metadata.is_file() && KINDS.contains(&kind.as_str()) && metadata.len() <= MOST_BYTES && !of_weights {
            std::fs::copy(&path, to.join(&name)).map_err(|error| format!("{}: {error}", path.display()))?;
        }
    }
    Ok(())
}

/// A tensor without what goes of it.
fn pruned(
    whole: Stored,
    config: &Config,
    rule: PruneRule,
    heads: &BTreeSet<HeadId>,
    shape: PrunedShape,
    name: &str,
) -> Result<Stored, ModelError> {
    let Some((layer, part)) = rule.part_of(name) else { return Ok(whole) };
    // Which of the head-wide stretches that are there go.
    let goes: Vec<bool> =
        config.heads_left(layer).into_iter().map(|head| heads.contains(&HeadId::new(layer, head))).collect();
    if !goes.contains(&true) {
        return Ok(whole);
    }
    let (along, wanted) = match part {
        Part::Rows => (0, shape == PrunedShape::Compact),
        Part::Columns => (1, true),
    };
    let width = config.head_dim();
    if whole.shape.get(along) != Some(&(goes.len() * width)) {
        let wanted = vec![goes.len() * width, config.hidden];
        return Err(ModelError::WrongShape { name: name.into(), found: whole.shape, wanted });
    }
    Ok(match (wanted, shape) {
        (false, _) => whole,
        (true, PrunedShape::Compact) => without(whole, along, width, &goes),
        (true, PrunedShape::Same) => zeroed_columns(whole, width, &goes),
    })
}

/// Bytes of one number.
fn size(tensor: &Stored) -> usize {
    tensor.bytes.len() / tensor.shape.iter().product::<usize>().max(1)
}

/// Without stretches of `width` rows or columns.
fn without(mut tensor: Stored, along: usize, width: usize, goes: &[bool]) -> Stored {
    let inner: usize = tensor.shape[along + 1..].iter().product::<usize>() * size(&tensor);
    let stretches = tensor.bytes.chunks_exact((width * inner).max(1)).enumerate();
    let left = stretches.filter(|(at, _)| !goes[at % goes.len()]).flat_map(|(_, stretch)| stretch);
    tensor.bytes = left.copied().collect();
    tensor.shape[along] = goes.iter().filter(|goes| !**goes).count() * width;
    tensor
}

fn zeroed_columns(mut tensor: Stored, width: usize, goes: &[bool]) -> Stored {
    let stretch = width * size(&tensor);
    for (at, bytes) in tensor.bytes.chunks_exact_mut(stretch.max(1)).enumerate() {
        if goes[at % goes.len()] {
            bytes.fill(0); // 0 in every floating-point kind
        }
    }
    tensor
}

/// How a weight is shared out among heads.
enum Part {
    /// Query, key and value projections and their biases.
    Rows,
    /// W_O
    Columns,
}

/// Which weights of a family are shared out among heads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PruneRule {
    /// What stands before a layer's number.
    pub layers: &'static str,
    /// Layers whose rows, and biases, belong to heads.
    pub rows: &'static [&'static str],
    /// W_O, whose columns belong to heads.
    pub columns: &'static str,
    /// `transformers` 4 knew a compact form of pruned models of the family.
    pub compact: bool,
}

impl PruneRule {
    pub const BERT: Self = Self {
        layers: "encoder.layer.",
        rows: &["attention.self.query", "attention.self.key", "attention.self.value"],
        columns: "attention.output.dense",
        compact: true,
    };

    /// Of a family whose layers share their weights: such a model is refused before.
    pub const SHARED: Self = Self { layers: "encoder.layer.", rows: &[], columns: "", compact: false };

    fn part_of(self, name: &str) -> Option<(usize, Part)> {
        let (layer, rest) = name.rsplit_once(self.layers)?.1.split_once('.')?;
        let (of, kind) = rest.rsplit_once('.')?;
        let part = match kind {
            "weight" if of == self.columns => Part::Columns,
            "weight" | "bias" if self.rows.contains(&of) => Part::Rows,
            _ => return None,
        };
        Some((layer.parse().ok()?, part))
    }
}

/// The bytes of a folder's weight files.
///
/// # Errors
/// [`ModelError`] if it has none, or one cannot be read.
pub fn weight_bytes(folder: &Path) -> Result<u64, ModelError> {
    Ok(Checkpoint::open(folder)?.bytes())
}
