use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use ndarray::Array3;
use safetensors::{Dtype, View};

use super::{AttentionMaps, Run, RunError, write_bytes};

/// Writes a run as safetensors, as [`run_bytes`] has it.
///
/// # Errors
/// As [`write_bytes`].
pub fn write_safetensors(run: &Run, path: &Path) -> Result<(), RunError> {
    write_bytes(path, run_bytes(run)?)
}

/// A run as a safetensors file holds it.
///
/// Tensors: `input_ids` and `token_type_ids` `[N]` (i64); `attention` `[L, H, N, N]` as applied, `context`
/// `[L, H, N, d]` as applied, `last_hidden_state` `[N, D]`, `sentence_embedding` `[D]` unless the model's way to it cannot
/// be followed, where the model has a pooler
/// `pooler_output` `[D]`, for a run with edits `attention_computed` `[L, H, N, N]`, and what task heads answer: the main
/// one as `logits`, further ones as `logits_` and their task, such as `logits_next-sentence`, `[N, C]` from a head on
/// tokens and `[C]` from one on the whole text (all f32). Metadata: `tokens` (a JSON list of pieces), `text`, `text_b`
/// (for a pair), `model`, `pooling` (how the embedding was made), and where there are any `edits` and `masked` (JSON
/// lists), `task` and `labels` (of the main head).
///
/// # Errors
/// [`RunError::NotStored`] with the cause.
pub fn run_bytes(run: &Run) -> Result<Vec<u8>, RunError> {
    let failed = RunError::NotStored;
    let tokens = &run.input.tokens;
    let mut tensors: Vec<(Cow<'_, str>, Stored)> = vec![
        ("input_ids".into(), Stored::integers(tokens.iter().map(|token| token.id))),
        ("token_type_ids".into(), Stored::integers(tokens.iter().map(|token| token.type_id))),
        ("attention".into(), Stored::maps(&run.attention)),
    ];
    let vector = run.embedding.as_ref();
    tensors.extend(vector.map(|vector| ("sentence_embedding".into(), Stored::floats(&vector.values))));
    if let Some(context) = Stored::stacked(&run.context) {
        tensors.push(("context".into(), context));
    }
    tensors.extend(run.computed.as_ref().map(|computed| ("attention_computed".into(), Stored::maps(computed))));
    tensors.extend(run.last_hidden_state().map(|last| ("last_hidden_state".into(), Stored::floats(last))));
    tensors.extend(run.pooler_output.as_ref().map(|pooled| ("pooler_output".into(), Stored::floats(pooled))));

    for (number, output) in run.outputs.iter().enumerate() {
        let name = if number == 0 { "logits".to_owned() } else { format!("logits_{}", output.task.word()) };
        let whole_text = output.tokens.is_empty() && output.logits.nrows() == 1;
        let logits =
            if whole_text { Stored::floats(&output.logits.row(0).to_owned()) } else { Stored::floats(&output.logits) };
        tensors.push((name.into(), logits));
    }

    let pieces: Vec<&str> = tokens.iter().map(|token| token.piece.as_str()).collect();
    let pieces = serde_json::to_string(&pieces).map_err(|error| failed(error.to_string()))?;
    let mut metadata = HashMap::from([
        ("tokens".to_owned(), pieces),
        ("text".to_owned(), run.input.texts.a.clone()),
        ("model".to_owned(), run.model.name.clone()),
        ("pooling".to_owned(), run.model.pooling.describe()),
    ]);
    if !run.edits.is_empty() {
        let edits: Vec<String> = run.edits.iter().map(ToString::to_string).collect();
        metadata.insert("edits".to_owned(), serde_json::to_string(&edits).map_err(|error| failed(error.to_string()))?);
    }
    if !run.input.masked.is_empty() {
        let masked: Vec<usize> = run.input.masked.iter().map(|masked| masked.token).collect();
        metadata.insert("masked".to_owned(), format!("{masked:?}"));
    }
    if let Some(main) = run.model.tasks.first() {
        metadata.insert("task".to_owned(), main.task.word().to_owned());
        metadata.insert(
            "labels".to_owned(),
            serde_json::to_string(&main.labels).map_err(|error| failed(error.to_string()))?,
        );
    }
    metadata.extend(run.input.texts.b.as_ref().map(|text| ("text_b".to_owned(), text.clone())));

    safetensors::serialize(tensors, Some(metadata)).map_err(|error| failed(error.to_string()))
}

/// Writes named tensors and metadata as a new safetensors file, which whoever may read other new files of the user can
/// read.
///
/// # Errors
/// The cause in words.
pub fn write_tensors(
    path: &Path,
    tensors: impl IntoIterator<Item = (impl AsRef<str> + Ord + std::fmt::Display, Stored)>,
    metadata: HashMap<String, String>,
) -> Result<(), String> {
    // The library makes a file that its owner alone may read, and puts it in the place of this one.
    let usual = std::fs::File::create(path).and_then(|file| file.metadata()).map_err(|error| error.to_string())?;
    safetensors::serialize_to_file(tensors, Some(metadata), path).map_err(|error| error.to_string())?;
    std::fs::set_permissions(path, usual.permissions()).map_err(|error| error.to_string())
}

/// A tensor as a safetensors file holds it: little-endian, row-major.
#[derive(Debug, Clone)]
pub struct Stored {
    pub dtype: Dtype,
    pub shape: Vec<usize>,
    pub bytes: Vec<u8>,
}

impl Stored {
    fn integers(values: impl ExactSizeIterator<Item = u32>) -> Self {
        let shape = vec![values.len()];
        Self { dtype: Dtype::I64, shape, bytes: values.flat_map(|value| i64::from(value).to_le_bytes()).collect() }
    }

    /// `[layer, head, query, key]`
    fn maps(maps: &AttentionMaps) -> Self {
        let shape = vec![maps.layers(), maps.heads(), maps.tokens(), maps.tokens()];
        Self { dtype: Dtype::F32, shape, bytes: maps.iter().flat_map(f32::to_le_bytes).collect() }
    }

    /// Arrays of one shape, one after the other along a new first axis; `None` if there are none.
    fn stacked(arrays: &[Arc<Array3<f32>>]) -> Option<Self> {
        let shape = std::iter::once(arrays.len()).chain(arrays.first()?.shape().iter().copied()).collect();
        let numbers = arrays.iter().flat_map(|array| array.iter());
        Some(Self { dtype: Dtype::F32, shape, bytes: numbers.flat_map(|number| number.to_le_bytes()).collect() })
    }

    fn floats<D: ndarray::Dimension>(values: &ndarray::Array<f32, D>) -> Self {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self { dtype: Dtype::F32, shape: values.shape().to_vec(), bytes }
    }
}

impl View for Stored {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.bytes)
    }

    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}
