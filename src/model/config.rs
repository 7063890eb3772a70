use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;

use super::ModelError;
use crate::run::HeadId;

/// The shape of an encoder, as `config.json` gives it.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// `model_type`.
    pub family: String,
    pub layers: usize,
    pub heads: usize,
    /// Width of the hidden state; a multiple of `heads`.
    pub hidden: usize,
    /// Width inside the feed-forward block.
    pub intermediate: usize,
    pub activation: Activation,
    pub layer_norm_eps: f64,
    /// The longest input.
    pub positions: usize,
    /// How many token types (segments) there are; at least 1.
    pub types: usize,
    pub vocabulary: usize,
    /// Heads that were cut out of the weights; they keep their numbers.
    pub pruned: BTreeSet<HeadId>,
    /// What the checkpoint was saved as, such as `BertForSequenceClassification`.
    pub architecture: Option<String>,
    /// Names of classes (`id2label`), by number; empty where the config has none.
    pub labels: Vec<String>,
    /// Classes exclude each other, unless the config says otherwise.
    pub problem: Problem,
    /// A masked-language-model head shares the table of word embeddings.
    pub tied: bool,
}

/// What a sequence classifier's numbers stand for (`problem_type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Problem {
    /// Exactly one class is right: probabilities by softmax.
    #[default]
    SingleLabelClassification,
    /// Each class is right or not by itself: probabilities by sigmoid.
    MultiLabelClassification,
    /// The numbers are the answer.
    Regression,
}

/// The feed-forward block's non-linearity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// x Φ(x) by the error function (Hendrycks & Gimpel 2016).
    Gelu,
    /// Its approximation by tanh.
    GeluTanh,
    Relu,
    Silu,
    Tanh,
}

impl Activation {
    const NAMES: [(&'static str, Self); 9] = [
        ("gelu", Self::Gelu),
        ("gelu_python", Self::Gelu),
        ("gelu_new", Self::GeluTanh),
        ("gelu_pytorch_tanh", Self::GeluTanh),
        ("gelu_fast", Self::GeluTanh),
        ("relu", Self::Relu),
        ("silu", Self::Silu),
        ("swish", Self::Silu),
        ("tanh", Self::Tanh),
    ];

    fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, activation)| *activation)
    }
}

/// The keys read from `config.json`; absent ones take the defaults of `transformers`' BertConfig.
#[derive(Debug, Deserialize)]
#[serde(default)]
struct Stored {
    model_type: String,
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    hidden_act: String,
    max_position_embeddings: usize,
    type_vocab_size: usize,
    layer_norm_eps: f64,
    position_embedding_type: String,
    is_decoder: bool,
    tie_word_embeddings: bool,
    architectures: Option<Vec<String>>,
    id2label: Option<BTreeMap<String, String>>,
    problem_type: Option<Problem>,
    pruned_heads: Option<BTreeMap<String, Vec<usize>>>,
}

impl Default for Stored {
    fn default() -> Self {
        Self {
            model_type: "bert".into(), // checkpoints of 2019 do not say
            vocab_size: 30522,
            hidden_size: 768,
            num_hidden_layers: 12,
            num_attention_heads: 12,
            intermediate_size: 3072,
            hidden_act: "gelu".into(),
            max_position_embeddings: 512,
            type_vocab_size: 2,
            layer_norm_eps: 1e-12,
            position_embedding_type: "absolute".into(),
            is_decoder: false,
            tie_word_embeddings: true,
            architectures: None,
            id2label: None,
            problem_type: None,
            pruned_heads: None,
        }
    }
}

impl Stored {
    /// Names of classes in the order of their numbers.
    fn labels(&self) -> Result<Vec<String>, String> {
        let Some(named) = &self.id2label else { return Ok(Vec::new()) };
        let find = |class: usize| named.get(&class.to_string()).cloned();
        let labels = (0..named.len()).map(find).collect::<Option<_>>();
        labels.ok_or_else(|| format!("its id2label does not number its {} classes from 0 on", named.len()))
    }

    fn pruned(&self) -> Result<BTreeSet<HeadId>, String> {
        let mut pruned = BTreeSet::new();
        for (layer, heads) in self.pruned_heads.iter().flatten() {
            let number = layer.parse().map_err(|_| format!("its pruned_heads has a layer called “{layer}”"))?;
            for &head in heads {
                let id = HeadId::new(number, head).within(self.num_hidden_layers, self.num_attention_heads);
                pruned.insert(id.map_err(|error| format!("its pruned_heads is wrong: {error}"))?);
            }
        }
        Ok(pruned)
    }
}

impl Config {
    /// Reads a model folder's `config.json`.
    ///
    /// # Errors
    /// [`ModelError`] if it is missing, unreadable, or describes what this program cannot run; the cause is named.
    pub fn from_folder(folder: &Path) -> Result<Self, ModelError> {
        let path = folder.join("config.json");
        let text = std::fs::read(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => ModelError::NoConfig(folder.to_owned()),
            _ => ModelError::Unreadable { path: path.clone(), cause: error.to_string() },
        })?;
        Self::from_json(&text).map_err(|cause| ModelError::BadConfig { path, cause })
    }

    /// Reads the text of a `config.json`; an error says what is wrong with it.
    pub fn from_json(text: &[u8]) -> Result<Self, String> {
        let stored: Stored = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        if stored.model_type != "bert" {
            return Err(format!(
                "its model_type is {}, and this version opens encoders of model_type bert",
                stored.model_type
            ));
        }
        if stored.is_decoder {
            return Err("it describes a decoder (is_decoder), and only encoders can be opened".into());
        }
        if stored.position_embedding_type != "absolute" {
            return Err(format!(
                "its position_embedding_type is {}, and only absolute positions are known",
                stored.position_embedding_type
            ));
        }
        // Bounds far above any real BERT, and low enough that no product of them overflows.
        let bounded = [
            ("num_hidden_layers", stored.num_hidden_layers, 1_000),
            ("num_attention_heads", stored.num_attention_heads, 1_000),
            ("hidden_size", stored.hidden_size, 100_000),
            ("intermediate_size", stored.intermediate_size, 1_000_000),
            ("max_position_embeddings", stored.max_position_embeddings, 1_000_000),
            ("type_vocab_size", stored.type_vocab_size, 1_000),
            ("vocab_size", stored.vocab_size, 10_000_000),
        ];
        if let Some((key, value, most)) = bounded.into_iter().find(|(_, value, most)| !(1..=*most).contains(value)) {
            return Err(format!("{key} is {value}, which is outside 1 to {most}"));
        }
        if !stored.hidden_size.is_multiple_of(stored.num_attention_heads) {
            return Err(format!(
                "hidden_size {} cannot be shared out among {} heads",
                stored.hidden_size, stored.num_attention_heads
            ));
        }
        if !(stored.layer_norm_eps >= 0.0 && stored.layer_norm_eps < 1.0) {
            return Err(format!("layer_norm_eps is {}, which is outside 0 to 1", stored.layer_norm_eps));
        }
        let activation = Activation::from_name(&stored.hidden_act).ok_or_else(|| {
            let known = Activation::NAMES.map(|(name, _)| name).join(", ");
            format!("its hidden_act {} is not known; known are {known}", stored.hidden_act)
        })?;
        let (labels, pruned) = (stored.labels()?, stored.pruned()?);
        Ok(Self {
            pruned,
            labels,
            architecture: stored.architectures.and_then(|names| names.into_iter().next()),
            problem: stored.problem_type.unwrap_or_default(),
            tied: stored.tie_word_embeddings,
            family: stored.model_type,
            layers: stored.num_hidden_layers,
            heads: stored.num_attention_heads,
            hidden: stored.hidden_size,
            intermediate: stored.intermediate_size,
            activation,
            layer_norm_eps: stored.layer_norm_eps,
            positions: stored.max_position_embeddings,
            types: stored.type_vocab_size,
            vocabulary: stored.vocab_size,
        })
    }

    /// Width of one head.
    pub fn head_dim(&self) -> usize {
        self.hidden / self.heads
    }

    /// The heads that a layer still has, by number.
    pub fn heads_left(&self, layer: usize) -> Vec<usize> {
        (0..self.heads).filter(|&head| !self.pruned.contains(&HeadId::new(layer, head))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_run_is_refused_with_its_cause() {
        for (json, wanted) in [
            (r#"{"num_hidden_layers": 1000000000}"#, "num_hidden_layers is 1000000000"),
            (r#"{"num_attention_heads": 0}"#, "num_attention_heads is 0"),
            (r#"{"hidden_size": 100, "num_attention_heads": 12}"#, "cannot be shared out"),
            (r#"{"hidden_act": "mish"}"#, "gelu_new"),
            (r#"{"model_type": "gpt2"}"#, "gpt2"),
            (r#"{"position_embedding_type": "relative_key"}"#, "relative_key"),
            (r#"{"is_decoder": true}"#, "decoder"),
            (r#"{"layer_norm_eps": -1}"#, "layer_norm_eps"),
            (r#"{"pruned_heads": {"12": [0]}}"#, "there is no head 12.0"),
            (r#"{"pruned_heads": {"x": [0]}}"#, "a layer called “x”"),
            (r#"{"id2label": {"0": "a", "2": "b"}}"#, "number its 2 classes from 0"),
            (r#"{"problem_type": "guessing"}"#, "guessing"),
            ("not JSON", "expected"),
            (r#"{"hidden_size": -3}"#, "invalid value"),
        ] {
            let cause = Config::from_json(json.as_bytes()).unwrap_err();
            assert!(cause.contains(wanted), "{json} gave: {cause}");
        }
    }

    #[test]
    fn an_empty_config_is_bert_base() {
        let config = Config::from_json(b"{}").unwrap();
        assert_eq!((config.layers, config.heads, config.hidden, config.head_dim()), (12, 12, 768, 64));
        assert_eq!(config.layer_norm_eps, 1e-12);
        assert!(config.pruned.is_empty() && config.labels.is_empty() && config.tied);
    }

    #[test]
    fn pruned_heads_and_labels_are_read() {
        let json = r#"{"pruned_heads": {"0": [1], "3": [4, 5]}, "id2label": {"1": "yes", "0": "no"}}"#;
        let config = Config::from_json(json.as_bytes()).unwrap();
        assert_eq!(config.pruned.iter().map(ToString::to_string).collect::<Vec<_>>(), ["0.1", "3.4", "3.5"]);
        assert_eq!(config.heads_left(3), [0, 1, 2, 3, 6, 7, 8, 9, 10, 11]);
        assert_eq!(config.labels, ["no", "yes"]);
    }
}
