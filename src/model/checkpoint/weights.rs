use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use ::safetensors::Dtype;
use tch::{Kind, Tensor};

use super::{Checkpoint, Entry, Heard};
use crate::model::ModelError;
use crate::run::{LoadReport, Task};

/// The tensors of a checkpoint by the names that `transformers` gives them.
#[derive(Clone)]
pub(in crate::model) struct Weights<'a> {
    checkpoint: &'a Checkpoint,
    /// What stands before each name, such as `bert.` in checkpoints with a task head.
    prefix: String,
    seen: &'a Seen<'a>,
}

/// Hears how many bytes of how many have been read while a model is loaded; its error ends the loading.
pub(in crate::model) type LoadWatch<'a> = &'a dyn Fn(usize, usize) -> Result<(), ModelError>;

/// What was asked for while a model was loaded.
pub(in crate::model) struct Seen<'w> {
    watch: LoadWatch<'w>,
    /// Bytes that have been read, and that there are.
    read: Cell<usize>,
    all: usize,
    used: RefCell<BTreeSet<String>>,
    renamed: RefCell<BTreeSet<(String, String)>>,
    not_finite: RefCell<BTreeSet<String>>,
    /// Weights that were sought in vain, with the head that they are for; of no head where the model itself has them.
    lacking: RefCell<Vec<(Option<Task>, String)>>,
}

impl<'w> Seen<'w> {
    pub fn new(checkpoint: &Checkpoint, watch: LoadWatch<'w>) -> Self {
        Self {
            watch,
            all: checkpoint.tensor_bytes(),
            read: Cell::default(),
            used: RefCell::default(),
            renamed: RefCell::default(),
            not_finite: RefCell::default(),
            lacking: RefCell::default(),
        }
    }

    fn hear(&self, more: usize) -> Result<(), ModelError> {
        // A weight that two parts share is read for each of them.
        self.read.set((self.read.get() + more).min(self.all));
        (self.watch)(self.read.get(), self.all)
    }

    /// What there is to tell of a checkpoint that has been loaded, which has a head for each of these tasks, though its
    /// class is for `task`.
    pub fn report(self, checkpoint: &Checkpoint, task: Option<Task>, there: &[Task]) -> LoadReport {
        let used = self.used.into_inner();
        // Buffers that old versions wrote, and a decoder's copy of the table that it shares.
        let buffer = |name: &str| name.ends_with("position_ids") || name.ends_with("embeddings.token_type_ids");
        let taken: Vec<&Entry> = used.iter().filter_map(|name| checkpoint.tensors().get(name)).collect();
        let unused = (checkpoint.tensors().iter())
            .filter(|(name, entry)| {
                !used.contains(*name) && !buffer(name) && !taken.iter().any(|other| other.is_same(entry))
            })
            .map(|(name, _)| name);
        let headless = task.filter(|task| !there.contains(task));
        let mut missing: Vec<String> = (self.lacking.into_inner().into_iter())
            .filter(|(head, _)| head.is_none() || *head == headless)
            .map(|(_, name)| name)
            .collect();
        missing.sort();
        missing.dedup();
        LoadReport {
            files: checkpoint.file_names(),
            renamed: self.renamed.into_inner().into_iter().collect(),
            unused: unused.cloned().collect(),
            not_finite: self.not_finite.into_inner().into_iter().collect(),
            wrappers: checkpoint.wrappers.iter().cloned().collect(),
            missing,
            headless,
            foreign_head: checkpoint.is_odd && !there.is_empty(),
            settings: Vec::new(),
        }
    }
}

impl<'a> Weights<'a> {
    /// The encoder's weights, with or without `base` before their names. `anchor` is the name, without that, of a weight
    /// that every checkpoint of the family has.
    pub fn new(checkpoint: &'a Checkpoint, anchor: &str, base: &str, seen: &'a Seen<'a>) -> Self {
        let has_base = checkpoint.tensors().contains_key(&format!("{base}{anchor}"));
        let prefix = if has_base { base.to_owned() } else { String::new() };
        Self { checkpoint, prefix, seen }
    }

    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    pub fn shape(&self, name: &str) -> Option<Vec<usize>> {
        Some(self.find(name)?.1.shape.clone())
    }

    /// Notes which of a head's weights are not there; of the model's own without a task.
    pub fn lacks(&self, task: Option<Task>, names: &[String]) {
        let lacking = names.iter().filter(|name| !self.has(name));
        let lacking = lacking.map(|name| (task, format!("{}{name}", self.prefix)));
        self.seen.lacking.borrow_mut().extend(lacking);
    }

    /// The same checkpoint seen from outside the encoder's prefix, where task heads lie.
    pub fn outside(&self) -> Self {
        Self { prefix: String::new(), ..self.clone() }
    }

    /// A weight as f32, copied into a tensor of its own.
    pub fn get(&self, name: &str, wanted: &[usize]) -> Result<Tensor, ModelError> {
        let asked = format!("{}{name}", self.prefix);
        let (found, entry) = self.find(name).ok_or_else(|| ModelError::MissingWeight(asked.clone()))?;
        if entry.shape != wanted {
            return Err(ModelError::WrongShape {
                name: found.to_owned(),
                found: entry.shape.clone(),
                wanted: wanted.to_vec(),
            });
        }
        let kind = match entry.dtype {
            Dtype::F32 => Kind::Float,
            Dtype::F16 => Kind::Half,
            Dtype::BF16 => Kind::BFloat16,
            Dtype::F64 => Kind::Double,
            other => return Err(ModelError::WrongKind { name: found.to_owned(), dtype: format!("{other:?}") }),
        };
        let shape: Vec<i64> = wanted.iter().map(|&size| size as i64).collect();
        let heard = |more: usize| self.seen.hear(more);
        let tensor = if kind == Kind::Float && entry.is_in_order() {
            self.read_in_place(entry, &shape, &heard)?
        } else {
            let bytes = self.checkpoint.read(entry, &heard)?;
            Tensor::f_from_data_size(&bytes, &shape, kind)?.f_to_kind(Kind::Float)?
        };
        // One number that is none makes the sum none.
        if !f32::try_from(tensor.f_sum(Kind::Float)?)?.is_finite() {
            self.seen.not_finite.borrow_mut().insert(found.to_owned());
        }
        self.seen.used.borrow_mut().insert(found.to_owned());
        if found != asked {
            self.seen.renamed.borrow_mut().insert((asked, found.to_owned()));
        }
        Ok(tensor)
    }

    /// Reads numbers that need no change straight into a tensor's own memory: a table of words can be most of a model, and
    /// would lie in memory twice for a moment.
    fn read_in_place(&self, entry: &Entry, shape: &[i64], heard: Heard<'_>) -> Result<Tensor, ModelError> {
        let tensor = Tensor::f_zeros(shape, (Kind::Float, tch::Device::Cpu))?;
        let bytes = tensor.numel() * size_of::<f32>();
        if bytes > 0 {
            // SAFETY: the tensor is new, contiguous, on the CPU and of f32, so that so many bytes lie from its data
            // pointer on; nothing else sees it yet, and it outlives the slice. Every pattern of bytes is some f32.
            let memory = unsafe { std::slice::from_raw_parts_mut(tensor.data_ptr().cast::<u8>(), bytes) };
            self.checkpoint.fill(entry, memory, heard)?;
        }
        Ok(tensor)
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

    /// A tensor with the name under which it is kept.
    fn find(&self, name: &str) -> Option<(&'a str, &'a Entry)> {
        let tensor = |name: &str| {
            let found = self.checkpoint.tensors().get_key_value(&format!("{}{name}", self.prefix));
            found.map(|(name, entry)| (name.as_str(), entry))
        };
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
pub(in crate::model) struct Linear {
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
pub(in crate::model) struct LayerNorm {
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
