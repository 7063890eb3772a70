use serde::{Deserialize, Serialize};

/// How the last hidden state becomes one vector for a sentence, in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pooling {
    /// What is done, in order, such as “the mean over tokens”, “scaled to length 1”.
    pub steps: Vec<String>,
    /// The model's own files say so; otherwise it is this program's choice.
    pub declared: bool,
    /// Why there is no vector, and so no similarity, though the model says how it is made.
    pub unavailable: Option<String>,
}

impl Default for Pooling {
    fn default() -> Self {
        Self { steps: vec!["the mean over tokens".to_owned()], declared: false, unavailable: None }
    }
}

impl Pooling {
    /// There is no vector, for a reason in a sentence.
    pub fn none(cause: String) -> Self {
        Self { steps: Vec::new(), declared: true, unavailable: Some(cause) }
    }

    /// In words, for the reader.
    pub fn describe(&self) -> String {
        if let Some(cause) = &self.unavailable {
            return format!("none: {cause}");
        }
        let origin = if self.declared { "declared by the model" } else { "not declared by the model" };
        format!("{} ({origin})", self.steps.join(", "))
    }
}
