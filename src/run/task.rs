use ndarray::Array2;
use serde::{Deserialize, Serialize};

/// What a model was trained to answer, beside its hidden state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// Which word stands at a `[MASK]`.
    MaskedLm,
    /// Which class the whole text is of.
    SequenceClassification,
    /// Which class each token is of.
    TokenClassification,
    /// Where in the second text the answer to the first one lies.
    QuestionAnswering,
    /// Whether the second text follows the first one.
    NextSentence,
}

impl Task {
    /// As files and the command line write it.
    pub fn word(self) -> &'static str {
        match self {
            Self::MaskedLm => "masked-lm",
            Self::SequenceClassification => "sequence-classification",
            Self::TokenClassification => "token-classification",
            Self::QuestionAnswering => "question-answering",
            Self::NextSentence => "next-sentence",
        }
    }

    /// As a reader knows it.
    pub fn name(self) -> &'static str {
        match self {
            Self::MaskedLm => "masked language model",
            Self::SequenceClassification => "sequence classification",
            Self::TokenClassification => "token classification",
            Self::QuestionAnswering => "question answering",
            Self::NextSentence => "next sentence",
        }
    }
}

/// How a row of a task's numbers becomes probabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// One class is right: softmax over the row.
    Softmax,
    /// Each class is right or not: sigmoid of each number.
    Sigmoid,
    /// The numbers are the answer.
    Raw,
}

impl Scale {
    /// Probabilities from logits, 0 to 1, or the numbers as they are.
    pub fn apply(self, logits: &[f32]) -> Vec<f32> {
        match self {
            Self::Raw => logits.to_vec(),
            Self::Sigmoid => logits.iter().map(|logit| 1.0 / (1.0 + (-logit).exp())).collect(),
            Self::Softmax => {
                let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let powers: Vec<f32> = logits.iter().map(|logit| (logit - most).exp()).collect();
                // Over a whole vocabulary, f32 would lose digits.
                let sum = powers.iter().map(|power| f64::from(*power)).sum::<f64>() as f32;
                powers.into_iter().map(|power| power / sum).collect()
            }
        }
    }
}

/// A task head of a model, as a reader may know it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskInfo {
    pub task: Task,
    /// Names of its classes, by number; empty for a masked language model, whose classes are the vocabulary.
    pub labels: Vec<String>,
    pub scale: Scale,
}

/// What a task head answered.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskOutput {
    pub task: Task,
    /// The tokens that the rows are for; empty where the one row is for the whole text.
    pub tokens: Vec<usize>,
    /// `[row, class]`. Question answering has two classes: that the answer starts, and that it ends, at a token.
    pub logits: Array2<f32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_by_hand() {
        let close = |a: Vec<f32>, b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6);
        assert!(close(Scale::Softmax.apply(&[0.0, 3f32.ln()]), &[0.25, 0.75]));
        assert!(close(Scale::Softmax.apply(&[1000.0, 1000.0]), &[0.5, 0.5]));
        assert!(close(Scale::Sigmoid.apply(&[0.0, 3f32.ln()]), &[0.5, 0.75]));
        assert_eq!(Scale::Raw.apply(&[-2.0]), [-2.0]);
    }
}
