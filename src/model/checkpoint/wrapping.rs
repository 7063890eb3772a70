//! What stands before and inside the names of tensors where a model was saved from within something else: data-parallel
//! training, a compiled module, a trainer's class, a dictionary that holds more than the model.

use std::collections::{BTreeMap, BTreeSet};

use super::{Checkpoint, Entry};
use crate::model::ModelError;

/// Parts of a name that a wrapper puts anywhere into it, and that no model has of its own: of `DataParallel`, DeepSpeed,
/// `torch.compile`, FSDP, activation checkpointing and Fabric.
const TRANSPARENT: [&str; 6] =
    ["module", "_orig_mod", "_fsdp_wrapped_module", "_fpw_module", "_checkpoint_wrapped_module", "_forward_module"];

/// A place where an encoder's names begin.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Root {
    /// What stands before its names, without what is transparent.
    plain: String,
    /// The same as it is written in the file.
    written: String,
}

impl Checkpoint {
    /// The same tensors under the names that `transformers` gives them. `anchor` is the name of a weight that every encoder
    /// of the family has, and `base` what stands before it in a model with a task head.
    ///
    /// # Errors
    /// [`ModelError::BadWeights`] if that leaves open which tensor is meant.
    pub fn unwrapped(mut self, anchor: &str, base: &str) -> Result<Self, ModelError> {
        let root = match self.roots(anchor).as_slice() {
            [] => Root { plain: String::new(), written: String::new() },
            [root] => root.clone(),
            several => {
                let names: Vec<String> = several.iter().map(|root| format!("“{}”", root.written)).collect();
                return Err(self.unclear(format!(
                    "it holds {} encoders, whose names begin with {}: save one of them alone",
                    names.len(),
                    names.join(" and with ")
                )));
            }
        };
        // The encoder's own base is part of its names; what stands before that is not.
        let outer = root.plain.strip_suffix(base).filter(|outer| outer.is_empty() || outer.ends_with('.'));
        let wrapper: Vec<&str> = outer.unwrap_or(&root.plain).split_terminator('.').collect();
        self.is_odd = outer.is_none() && !wrapper.is_empty();
        let mut named: BTreeMap<String, (String, Entry)> = BTreeMap::new();
        for (written, entry) in std::mem::take(&mut self.tensors) {
            let parts: Vec<&str> = written.split('.').collect();
            self.wrappers.extend(parts.iter().filter(|part| TRANSPARENT.contains(part)).map(|part| format!("{part}.")));
            let plain: Vec<&str> = parts.into_iter().filter(|part| !TRANSPARENT.contains(part)).collect();
            // Task heads of a class of one's own lie beside its encoder: they share the wrapper's beginning.
            let shared = plain.iter().zip(&wrapper).take_while(|(a, b)| a == b).count();
            let name = plain[shared..].join(".");
            match named.get(&name) {
                Some((_, other)) if other.is_same(&entry) => {}
                Some((other, _)) => {
                    return Err(self.unclear(format!("both {other} and {written} would be its {name}: save one alone")));
                }
                None => {
                    named.insert(name, (written, entry));
                }
            }
        }
        if !wrapper.is_empty() {
            self.wrappers.insert(format!("{}.", wrapper.join(".")));
        }
        self.tensors = named.into_iter().map(|(name, (_, entry))| (name, entry)).collect();
        Ok(self)
    }

    /// Where encoders begin; one that lies there twice under two names is one.
    fn roots(&self, anchor: &str) -> Vec<Root> {
        let found: BTreeSet<Root> = self.tensors.keys().filter_map(|name| root_of(name, anchor)).collect();
        let mut found: Vec<Root> = found.into_iter().collect();
        found.sort_by_key(|root| root.written.len());
        let mut distinct: Vec<Root> = Vec::new();
        for root in found {
            if !distinct.iter().any(|other| self.hold_the_same(&other.written, &root.written)) {
                distinct.push(root);
            }
        }
        distinct
    }

    /// Every tensor whose name begins so lies, under the other beginning, at the same place of the same file.
    fn hold_the_same(&self, one: &str, other: &str) -> bool {
        let mut below = self.tensors.iter().filter_map(|(name, entry)| Some((name.strip_prefix(other)?, entry)));
        below.all(|(rest, entry)| {
            let twin = self.tensors.get(&format!("{one}{rest}"));
            twin.is_some_and(|twin| twin.is_same(entry))
        })
    }

    fn unclear(&self, cause: String) -> ModelError {
        let path = self.files.first().map(|source| source.path.clone()).unwrap_or_default();
        ModelError::BadWeights { path, cause }
    }
}

fn root_of(name: &str, anchor: &str) -> Option<Root> {
    let plain: Vec<&str> = name.split('.').filter(|part| !TRANSPARENT.contains(part)).collect();
    let plain = plain.join(".");
    let plain = plain.strip_suffix(anchor).filter(|before| before.is_empty() || before.ends_with('.'))?;
    // What is transparent may stand inside the anchor's own name.
    let written = name.strip_suffix(anchor).unwrap_or(plain);
    Some(Root { plain: plain.to_owned(), written: written.to_owned() })
}

impl Entry {
    /// It lies at the same place.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.file, self.start, &self.shape, &self.strides) == (other.file, other.start, &other.shape, &other.strides)
    }
}
