use serde::{Deserialize, Serialize};

/// What was found while a checkpoint was loaded. A missing weight, or one of a wrong shape, refuses the load instead.
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
    /// What there is to tell of `config.json`, in sentences.
    #[serde(default)]
    pub settings: Vec<String>,
}
