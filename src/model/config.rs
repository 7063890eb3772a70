use std::path::Path;

use serde::Deserialize;

use super::ModelError;

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
        }
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
        Ok(Self {
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
    }
}
