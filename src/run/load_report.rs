use serde::{Deserialize, Serialize};

use super::Task;

/// What was found while a checkpoint was loaded. A weight that the encoder cannot do without, or one of a wrong shape, refuses
/// the load instead.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LoadReport {
    /// The files that its weights lie in.
    pub files: Vec<String>,
    /// Weights that were kept under another name: the name that was asked for, and the one that was found.
    pub renamed: Vec<(String, String)>,
    /// Tensors of the file that nothing asked for.
    pub unused: Vec<String>,
    /// Weights with numbers that are infinite or none.
    pub not_finite: Vec<String>,
    /// What wrappers had put into the names of tensors, such as `module.`, and was taken off.
    pub wrappers: Vec<String>,
    /// Weights that the model's class has and the file lacks; nothing stands in for them.
    pub missing: Vec<String>,
    /// The head that the model's class has and that cannot be built, for want of weights.
    pub headless: Option<Task>,
    /// A task head lies beside the encoder as in no class of `transformers`: its own program may read it otherwise.
    pub foreign_head: bool,
    /// What there is to tell of `config.json`, in sentences.
    #[serde(default)]
    pub settings: Vec<String>,
}

impl LoadReport {
    /// Why there are no answers where the model's class has some, in a sentence.
    pub fn headless_notice(&self) -> Option<String> {
        let task = self.headless?.name();
        let lacks = if self.missing.is_empty() { String::new() } else { format!(" ({})", self.missing.join(", ")) };
        Some(format!("the checkpoint lacks its head for {task}{lacks}, so there is no answer of it"))
    }
}
