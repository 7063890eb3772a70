use std::path::{Path, PathBuf};

use safetensors::{Dtype, SafeTensors};
use tch::{Kind, Tensor};

use super::ModelError;

/// The bytes of a checkpoint file.
pub(super) struct WeightFile {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl WeightFile {
    pub fn read(folder: &Path) -> Result<Self, ModelError> {
        let path = folder.join("model.safetensors");
        let bytes = std::fs::read(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => ModelError::NoWeights(folder.to_owned()),
            _ => ModelError::Unreadable { path: path.clone(), cause: error.to_string() },
        })?;
        Ok(Self { path, bytes })
    }

    /// The encoder's weights, whatever stands before their names.
    ///
    /// `anchor` is the name, without what stands before it, of a weight that every checkpoint of the family has.
    pub fn weights(&self, anchor: &str) -> Result<Weights<'_>, ModelError> {
        let mut weights = self.prefixed(String::new())?;
        let names = weights.tensors.names();
        weights.prefix = names.into_iter().find_map(|name| name.strip_suffix(anchor)).unwrap_or("").to_owned();
        Ok(weights)
    }

    fn prefixed(&self, prefix: String) -> Result<Weights<'_>, ModelError> {
        let tensors = SafeTensors::deserialize(&self.bytes)
            .map_err(|error| ModelError::BadWeights { path: self.path.clone(), cause: error.to_string() })?;
        Ok(Weights { file: self, tensors, prefix })
    }
}

/// The tensors of a checkpoint by the names that `transformers`' BertModel gives them.
pub(super) struct Weights<'a> {
    file: &'a WeightFile,
    tensors: SafeTensors<'a>,
    /// What stands before each name, such as `bert.` in checkpoints with a task head.
    prefix: String,
}

impl<'a> Weights<'a> {
    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    pub fn shape(&self, name: &str) -> Option<Vec<usize>> {
        Some(self.find(name)?.shape().to_vec())
    }

    /// The same file seen from outside the encoder's prefix, where task heads lie.
    pub fn outside(&self) -> Result<Weights<'a>, ModelError> {
        self.file.prefixed(String::new())
    }

    /// All tensors by their names in the file, in the order of their names.
    pub fn all(&self) -> impl Iterator<Item = (String, safetensors::tensor::TensorView<'_>)> {
        let mut tensors = self.tensors.tensors();
        tensors.sort_by(|a, b| a.0.cmp(&b.0));
        tensors.into_iter()
    }

    /// A weight as f32, copied into a tensor of its own.
    pub fn get(&self, name: &str, wanted: &[usize]) -> Result<Tensor, ModelError> {
        let view = self.find(name).ok_or_else(|| ModelError::MissingWeight(format!("{}{name}", self.prefix)))?;
        if view.shape() != wanted {
            return Err(ModelError::WrongShape {
                name: name.to_owned(),
                found: view.shape().to_vec(),
                wanted: wanted.to_vec(),
            });
        }
        let kind = match view.dtype() {
            Dtype::F32 => Kind::Float,
            Dtype::F16 => Kind::Half,
            Dtype::BF16 => Kind::BFloat16,
            Dtype::F64 => Kind::Double,
            other => return Err(ModelError::WrongKind { name: name.to_owned(), dtype: format!("{other:?}") }),
        };
        let shape: Vec<i64> = wanted.iter().map(|&size| size as i64).collect();
        Ok(Tensor::f_from_data_size(view.data(), &shape, kind)?.f_to_kind(Kind::Float)?)
    }

    /// `NAME.weight` and `NAME.bias` of a linear layer, `[out, in]` and `[out]`.
    pub fn linear(&self, name: &str, out: usize, into: usize) -> Result<Linear, ModelError> {
        self.linear_biased(name, out, into, true)
    }

    /// A linear layer that adds a bias, or none.
    pub fn linear_biased(&self, name: &str, out: usize, into: usize, biased: bool) -> Result<Linear, ModelError> {
        Ok(Linear {
            weight: self.get(&format!("{name}.weight"), &[out, into])?,
            bias: biased.then(|| self.get(&format!("{name}.bias"), &[out])).transpose()?,
        })
    }

    pub fn layer_norm(&self, name: &str, width: usize, eps: f64) -> Result<LayerNorm, ModelError> {
        self.norm_biased(name, width, eps, true)
    }

    /// A layer norm that adds a bias, or none.
    pub fn norm_biased(&self, name: &str, width: usize, eps: f64, biased: bool) -> Result<LayerNorm, ModelError> {
        Ok(LayerNorm {
            weight: self.get(&format!("{name}.weight"), &[width])?,
            bias: biased.then(|| self.get(&format!("{name}.bias"), &[width])).transpose()?,
            eps,
        })
    }

    fn find(&self, name: &str) -> Option<safetensors::tensor::TensorView<'_>> {
        let tensor = |name: &str| self.tensors.tensor(&format!("{}{name}", self.prefix)).ok();
        tensor(name).or_else(|| tensor(&old_name(name)?))
    }
}

/// How checkpoints converted from TensorFlow name a layer norm's weights.
fn old_name(name: &str) -> Option<String> {
    let norm = name.strip_suffix(".weight").map(|norm| (norm, "gamma"));
    let (norm, word) = norm.or_else(|| name.strip_suffix(".bias").map(|norm| (norm, "beta")))?;
    norm.ends_with("LayerNorm").then(|| format!("{norm}.{word}"))
}

/// y = x Wᵀ + b
#[derive(Debug)]
pub(super) struct Linear {
    /// `[out, in]`
    pub weight: Tensor,
    /// `[out]`
    pub bias: Option<Tensor>,
}

impl Linear {
    pub fn forward(&self, x: &Tensor) -> Result<Tensor, ModelError> {
        Ok(x.f_linear(&self.weight, self.bias.as_ref())?)
    }

    pub fn parameters(&self) -> usize {
        self.weight.numel() + self.bias.as_ref().map_or(0, Tensor::numel)
    }
}

#[derive(Debug)]
pub(super) struct LayerNorm {
    pub weight: Tensor,
    pub bias: Option<Tensor>,
    pub eps: f64,
}

impl LayerNorm {
    pub fn forward(&self, x: &Tensor) -> Result<Tensor, ModelError> {
        Ok(x.f_layer_norm(self.weight.size(), Some(&self.weight), self.bias.as_ref(), self.eps, false)?)
    }

    pub fn parameters(&self) -> usize {
        self.weight.numel() + self.bias.as_ref().map_or(0, Tensor::numel)
    }
}
