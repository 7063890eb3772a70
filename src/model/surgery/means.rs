//! Means of what heads hand on, over the tokens of a text file. They are found with progress, can be stopped and gone on
//! with, and are kept in the user's cache under hashes of the model and of the texts.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use ndarray::{Array2, Array3, Axis};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use sha2::{Digest, Sha256};

use crate::model::{Model, ModelError};
use crate::run::{ModelInfo, Texts, read_lines};
use crate::text::TOKENIZER_FILES;

/// Called before each text with how many are done and how many there are; its error ends the work.
pub type OnProgress<'a> = &'a mut dyn FnMut(usize, usize) -> Result<(), ModelError>;

/// Means that have been found, and one that is being found.
#[derive(Debug, Default)]
pub(super) struct Means {
    found: HashMap<PathBuf, (Stamp, Arc<Array3<f32>>)>,
    growing: HashMap<PathBuf, Growing>,
    /// Where means are kept between starts; `None` to keep none.
    folder: Option<PathBuf>,
    /// Of the model, once it was needed.
    fingerprint: Option<String>,
}

/// Tells a file from a later version of itself.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Stamp {
    modified: Option<SystemTime>,
    bytes: u64,
}

#[derive(Debug)]
struct Growing {
    stamp: Stamp,
    lines: Vec<String>,
    done: usize,
    tokens: usize,
    /// `[layer, head, head_dim]`
    sum: Array3<f64>,
}

impl Means {
    pub fn kept_in(folder: PathBuf) -> Self {
        Self { folder: Some(folder), ..Self::default() }
    }

    /// The mean over a text file, one text a line: `[layer, head, head_dim]`.
    pub fn of(
        &mut self,
        model: &Model,
        corpus: &Path,
        progress: OnProgress<'_>,
    ) -> Result<Arc<Array3<f32>>, ModelError> {
        let stamp = stamp(corpus)?;
        if let Some((_, mean)) = self.found.get(corpus).filter(|(of, _)| *of == stamp) {
            return Ok(mean.clone());
        }
        let mut growing = match self.growing.remove(corpus).filter(|growing| growing.stamp == stamp) {
            Some(growing) => growing,
            None => Growing::new(model, corpus, stamp)?,
        };
        let file = self.file(model, &growing.lines);
        let kept = file.as_deref().and_then(|file| read(file, growing.sum.dim()));
        let mean = match kept {
            Some(mean) => mean,
            None => {
                if let Err(error) = growing.finish(model, progress) {
                    self.growing.insert(corpus.to_owned(), growing);
                    return Err(error);
                }
                let mean = growing.sum.mapv(|sum| (sum / growing.tokens.max(1) as f64) as f32);
                if let Some(file) = &file {
                    // A cache that cannot be written costs time, not the result.
                    write(file, &mean).inspect_err(|cause| tracing::warn!("{}: {cause}", file.display())).ok();
                }
                mean
            }
        };
        let mean = Arc::new(mean);
        self.found.insert(corpus.to_owned(), (stamp, mean.clone()));
        Ok(mean)
    }

    /// Where the mean of these texts is kept.
    fn file(&mut self, model: &Model, lines: &[String]) -> Option<PathBuf> {
        let folder = self.folder.clone()?;
        let mut texts = Sha256::new();
        for line in lines {
            texts.update(line);
            texts.update("\n");
        }
        let model = match &self.fingerprint {
            Some(known) => known,
            None => self.fingerprint.insert(fingerprint(model.info())?),
        };
        Some(folder.join(format!("{}-{}.safetensors", &model[..24], &hex(texts)[..24])))
    }
}

fn stamp(path: &Path) -> Result<Stamp, ModelError> {
    let unreadable = |error: std::io::Error| ModelError::Unreadable { path: path.into(), cause: error.to_string() };
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    Ok(Stamp { modified: metadata.modified().ok(), bytes: metadata.len() })
}

impl Growing {
    fn new(model: &Model, corpus: &Path, stamp: Stamp) -> Result<Self, ModelError> {
        let info = model.info();
        let lines = read_lines(corpus)?.into_iter().map(|(_, line)| line).collect();
        Ok(Self { stamp, lines, done: 0, tokens: 0, sum: Array3::zeros((info.layers, info.heads, info.head_dim)) })
    }

    fn finish(&mut self, model: &Model, progress: OnProgress<'_>) -> Result<(), ModelError> {
        while let Some(line) = self.lines.get(self.done) {
            progress(self.done, self.lines.len())?;
            let run = model.run(model.tokenize(&Arc::new(Texts::single(line)))?, &mut ())?;
            self.tokens += run.input.tokens.len();
            for (mut sum, context) in self.sum.outer_iter_mut().zip(&run.context) {
                let of_text: Array2<f64> = context.mapv(f64::from).sum_axis(Axis(1));
                sum += &of_text;
            }
            self.done += 1;
        }
        Ok(())
    }
}

/// A hash over everything in a model's folder that decides its numbers.
fn fingerprint(info: &ModelInfo) -> Option<String> {
    let folder = if info.folder.is_file() { info.folder.parent()? } else { &info.folder };
    let mut hash = Sha256::new();
    let text = ["config.json"].into_iter().chain(TOKENIZER_FILES);
    for name in text.chain(info.report.files.iter().map(String::as_str)) {
        let Ok(mut file) = std::fs::File::open(folder.join(name)) else { continue };
        hash.update(name);
        let mut buffer = vec![0; 1 << 20];
        loop {
            match file.read(&mut buffer).ok()? {
                0 => break,
                count => hash.update(&buffer[..count]),
            }
        }
    }
    Some(hex(hash))
}

fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A mean that was kept; `None` if there is none, or the file is not what it should be.
fn read(file: &Path, shape: (usize, usize, usize)) -> Option<Array3<f32>> {
    let bytes = std::fs::read(file).ok()?;
    let tensors = SafeTensors::deserialize(&bytes).ok()?;
    let tensor = tensors.tensor("mean").ok().filter(|tensor| tensor.dtype() == Dtype::F32)?;
    if tensor.shape() != [shape.0, shape.1, shape.2] {
        return None;
    }
    let numbers = tensor.data().chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]));
    Array3::from_shape_vec(shape, numbers.collect()).ok()
}

fn write(file: &Path, mean: &Array3<f32>) -> Result<(), String> {
    let folder = file.parent().ok_or("it has no folder")?;
    std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    let bytes: Vec<u8> = mean.iter().flat_map(|number| number.to_le_bytes()).collect();
    let view = TensorView::new(Dtype::F32, mean.shape().to_vec(), &bytes).map_err(|error| error.to_string())?;
    let whole = safetensors::serialize([("mean", view)], None).map_err(|error| error.to_string())?;
    crate::run::write_bytes(file, whole).map_err(|error| error.to_string())
}
