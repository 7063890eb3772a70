//! What an edit takes from elsewhere: another text, a file that `headlight run` wrote, a corpus.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use directories::ProjectDirs;
use ndarray::{Array1, Array2, Array3, ArrayD, Axis, IxDyn};
use safetensors::SafeTensors;

use super::freeze::Piece;
use super::means::{Means, OnProgress};
use crate::model::{Model, ModelError};
use crate::run::{AttentionMaps, Edit, HeadId, Input, Intervention, Role, Source};

/// The patterns and contexts of a run that others are taken from.
#[derive(Debug, Clone)]
pub struct Held {
    pub(super) pieces: Vec<Piece>,
    pub(super) attention: AttentionMaps,
    /// One a layer: `[head, token, head_dim]`.
    context: Vec<Arc<Array3<f32>>>,
}

impl Held {
    pub(super) fn context(&self, head: HeadId) -> Option<Array2<f32>> {
        Some(self.context.get(head.layer)?.index_axis(Axis(0), head.head).to_owned())
    }
}

pub(super) fn pieces(input: &Input) -> Vec<Piece> {
    let piece = |token: &crate::run::Token| Piece { text: token.piece.clone(), special: token.role == Role::Special };
    input.tokens.iter().map(piece).collect()
}

/// Sources that have been read or run, each once.
#[derive(Debug, Default)]
pub struct Sources {
    /// By what they are written as.
    held: HashMap<String, Arc<Held>>,
    means: Means,
}

impl Sources {
    /// Sources whose means over text files are kept in the user's cache.
    pub fn kept() -> Self {
        match ProjectDirs::from("", "", "headlight") {
            Some(dirs) => Self::kept_in(dirs.cache_dir().join("means")),
            None => Self::default(),
        }
    }

    /// Sources whose means over text files are kept in a folder.
    pub fn kept_in(folder: PathBuf) -> Self {
        Self { means: Means::kept_in(folder), ..Self::default() }
    }

    /// The run that a source names.
    ///
    /// # Errors
    /// [`ModelError`] if the file cannot be read, is of another model's shape, or the text cannot be run.
    pub fn held(&mut self, model: &Model, source: &Source) -> Result<Arc<Held>, ModelError> {
        let name = source.to_string();
        if let Some(held) = self.held.get(&name) {
            return Ok(held.clone());
        }
        let held = Arc::new(match source {
            Source::Run(recipe) => {
                let run = model.run_recipe(recipe, self)?;
                Held { pieces: pieces(&run.input), attention: run.attention, context: run.context }
            }
            Source::File(path) => read(model, path)?,
        });
        self.held.insert(name, held.clone());
        Ok(held)
    }

    /// Finds the means over text files that these edits take, with progress.
    ///
    /// # Errors
    /// [`ModelError::Stopped`] if `progress` gave that. What else goes wrong is for the plan to say of its edit.
    pub fn prepare(&mut self, model: &Model, edits: &[Edit], progress: OnProgress<'_>) -> Result<(), ModelError> {
        for edit in edits {
            if let Intervention::Mean(Some(corpus)) = &edit.what
                && let Err(ModelError::Stopped) = self.means.of(model, corpus, progress)
            {
                return Err(ModelError::Stopped);
            }
        }
        Ok(())
    }

    /// A head's mean context over the tokens of a text file, one text a line, `[head_dim]`.
    ///
    /// # Errors
    /// [`ModelError`] if the file cannot be read, holds no text, or a line cannot be run.
    pub fn mean(&mut self, model: &Model, corpus: &Path, head: HeadId) -> Result<Array1<f32>, ModelError> {
        let mean = self.means.of(model, corpus, &mut |_, _| Ok(()))?;
        Ok(mean.slice(ndarray::s![head.layer, head.head, ..]).to_owned())
    }
}

/// Reads what `headlight run` wrote.
fn read(model: &Model, path: &Path) -> Result<Held, ModelError> {
    let unusable = |cause: String| ModelError::BadSource { path: path.to_owned(), cause };
    let bytes = std::fs::read(path).map_err(|error| unusable(error.to_string()))?;
    let tensors = SafeTensors::deserialize(&bytes).map_err(|error| unusable(error.to_string()))?;
    let (_, header) = SafeTensors::read_metadata(&bytes).map_err(|error| unusable(error.to_string()))?;
    let (attention, context) = (floats(&tensors, "attention"), floats(&tensors, "context"));
    let (attention, context) =
        attention.zip(context).ok_or_else(|| unusable("`headlight run` did not write it".into()))?;
    let info = model.info();
    let tokens = attention.shape().get(2).copied().unwrap_or(0);
    let wanted = ([info.layers, info.heads, tokens, tokens], [info.layers, info.heads, tokens, info.head_dim]);
    if attention.shape() != wanted.0 || context.shape() != wanted.1 {
        return Err(unusable(format!(
            "its attention is {:?}, and this model has {} layers and {} heads",
            attention.shape(),
            info.layers,
            info.heads
        )));
    }
    let names: Option<Vec<String>> = header
        .metadata()
        .as_ref()
        .and_then(|metadata| metadata.get("tokens"))
        .and_then(|names| serde_json::from_str(names).ok());
    let names = names.filter(|names| names.len() == tokens);
    let names = names.ok_or_else(|| unusable("it does not name its tokens".into()))?;
    let special = |piece: &str| model.is_marker(piece);
    let pieces = names.into_iter().map(|text| Piece { special: special(&text), text }).collect();
    let layers = |array: ArrayD<f32>| -> Result<Vec<Arc<Array3<f32>>>, ModelError> {
        let layer = |view: ndarray::ArrayViewD<'_, f32>| view.to_owned().into_dimensionality().map(Arc::new);
        array.outer_iter().map(layer).collect::<Result<_, _>>().map_err(|error| unusable(error.to_string()))
    };
    Ok(Held { pieces, attention: AttentionMaps::from_layers(layers(attention)?)?, context: layers(context)? })
}

fn floats(tensors: &SafeTensors<'_>, name: &str) -> Option<ArrayD<f32>> {
    let tensor = tensors.tensor(name).ok().filter(|tensor| tensor.dtype() == safetensors::Dtype::F32)?;
    let numbers = tensor.data().chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]));
    ArrayD::from_shape_vec(IxDyn(tensor.shape()), numbers.collect()).ok()
}
