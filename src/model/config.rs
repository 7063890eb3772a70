use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value};

use super::ModelError;
use super::checkpoint::Checkpoint;
use super::family::Family;
use super::family::evidence::{self, FamilyBy};
use super::family::settings;
use super::find::folder_of;
use crate::run::{HeadId, Task, as_utf8};

/// The shape of an encoder, as `config.json` gives it.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// `model_type`, or what stands for it.
    pub family: String,
    /// How the family is known.
    pub family_by: FamilyBy,
    pub layers: usize,
    pub heads: usize,
    /// Width of the hidden state; a multiple of `heads`.
    pub hidden: usize,
    /// Width inside the feed-forward block.
    pub intermediate: usize,
    pub activation: Activation,
    pub layer_norm_eps: f64,
    /// Width of the embeddings, where it is another than that of the layers.
    pub embedding: usize,
    /// The longest input.
    pub positions: usize,
    /// Rows of the table of positions: more than `positions` where the first ones are not for tokens.
    pub position_rows: usize,
    /// How many token types (segments) there are; 0 in a family without.
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
    /// What whoever made the folder wants its readers to know (`headlight_note`).
    pub note: Option<String>,
    /// Layer norms add a bias.
    pub norm_bias: bool,
    /// The layers inside a task head add a bias.
    pub head_bias: bool,
    /// So does the last one of a masked-language-model head.
    pub decoder_bias: bool,
    /// How many tokens a local layer looks at; 0 in a family without such layers.
    pub window: usize,
}

/// What a sequence classifier's numbers stand for (`problem_type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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
    const NAMES: [(&'static str, Self); 11] = [
        ("gelu", Self::Gelu),
        ("gelu_python", Self::Gelu),
        ("gelu_new", Self::GeluTanh),
        ("gelu_pytorch_tanh", Self::GeluTanh),
        ("gelu_fast", Self::GeluTanh),
        ("gelu_python_tanh", Self::GeluTanh),
        ("gelu_accurate", Self::GeluTanh),
        ("relu", Self::Relu),
        ("silu", Self::Silu),
        ("swish", Self::Silu),
        ("tanh", Self::Tanh),
    ];

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, activation)| *activation)
    }
}

/// What `config.json` holds, asked for key by key. A key that is absent or null takes its default.
#[derive(Debug, Clone)]
pub(super) struct Stored(Map<String, Value>);

impl Stored {
    fn parse(text: &[u8]) -> Result<Self, String> {
        Ok(Self(serde_json::from_slice(&as_utf8(text)).map_err(|error| error.to_string())?))
    }

    /// The names of all that it holds.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub fn set(&mut self, key: &str, value: Value) {
        self.0.insert(key.to_owned(), value);
    }

    pub fn is_null(&self, key: &str) -> bool {
        self.0.get(key).is_some_and(Value::is_null)
    }

    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    fn read<T>(&self, key: &str, default: T, kind: &str, read: impl Fn(&Value) -> Option<T>) -> Result<T, String> {
        match self.get(key) {
            None => Ok(default),
            Some(value) => read(value).ok_or_else(|| format!("{key} is {value}, which is no {kind}")),
        }
    }

    pub fn number(&self, key: &str, default: usize) -> Result<usize, String> {
        self.read(key, default, "whole number", |value| value.as_u64()?.try_into().ok())
    }

    pub fn signed(&self, key: &str, default: i64) -> Result<i64, String> {
        self.read(key, default, "whole number", Value::as_i64)
    }

    pub fn float(&self, key: &str, default: f64) -> Result<f64, String> {
        self.read(key, default, "number", Value::as_f64)
    }

    pub fn flag(&self, key: &str, default: bool) -> Result<bool, String> {
        self.read(key, default, "true or false", Value::as_bool)
    }

    pub fn text(&self, key: &str, default: &str) -> Result<String, String> {
        self.read(key, default.to_owned(), "text", |value| value.as_str().map(str::to_owned))
    }

    /// A list of words, also where it is written as one text with bars between.
    pub fn words(&self, key: &str) -> Result<Vec<String>, String> {
        self.read(key, Vec::new(), "list of words", |value| match value {
            Value::String(text) => Some(text.split('|').map(|word| word.trim().to_lowercase()).collect()),
            _ => value.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect(),
        })
    }

    /// The keys inside a key.
    pub fn inner(&self, key: &str) -> Option<Self> {
        self.get(key)?.as_object().cloned().map(Self)
    }

    /// Names of classes in the order of their numbers.
    fn labels(&self) -> Result<Vec<String>, String> {
        let Some(named) = self.inner("id2label") else { return Ok(Vec::new()) };
        let find = |class: usize| named.get(&class.to_string())?.as_str().map(str::to_owned);
        let labels = (0..named.0.len()).map(find).collect::<Option<_>>();
        labels.ok_or_else(|| format!("its id2label does not number its {} classes from 0 on", named.0.len()))
    }

    fn pruned(&self, layers: usize, heads: usize) -> Result<BTreeSet<HeadId>, String> {
        let mut pruned = BTreeSet::new();
        for (layer, gone) in self.inner("pruned_heads").iter().flat_map(|layers| &layers.0) {
            let number = layer.parse().map_err(|_| format!("its pruned_heads has a layer called “{layer}”"))?;
            for head in gone.as_array().into_iter().flatten() {
                let head = head.as_u64().ok_or_else(|| format!("its pruned_heads has a head called {head}"))?;
                let id = HeadId::new(number, head as usize).within(layers, heads);
                pruned.insert(id.map_err(|error| format!("its pruned_heads is wrong: {error}"))?);
            }
        }
        Ok(pruned)
    }
}

/// Under which keys a family keeps its shape, each with the default of `transformers`' config of that family.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keys {
    pub vocabulary: (&'static str, usize),
    pub hidden: (&'static str, usize),
    pub layers: (&'static str, usize),
    pub heads: (&'static str, usize),
    pub intermediate: (&'static str, usize),
    pub activation: (&'static str, &'static str),
    pub positions: (&'static str, usize),
    /// `None` in a family without segments.
    pub types: Option<(&'static str, usize)>,
    /// `None` where embeddings are as wide as the layers; a default of 0 stands for that too.
    pub embedding: Option<(&'static str, usize)>,
    pub eps: (&'static str, f64),
}

impl Keys {
    pub const BERT: Self = Self {
        vocabulary: ("vocab_size", 30522),
        hidden: ("hidden_size", 768),
        layers: ("num_hidden_layers", 12),
        heads: ("num_attention_heads", 12),
        intermediate: ("intermediate_size", 3072),
        activation: ("hidden_act", "gelu"),
        positions: ("max_position_embeddings", 512),
        types: Some(("type_vocab_size", 2)),
        embedding: None,
        eps: ("layer_norm_eps", 1e-12),
    };
}

impl Config {
    /// Reads a model folder's `config.json`.
    ///
    /// # Errors
    /// [`ModelError`] if it is missing, unreadable, or describes what this program cannot run; the cause is named.
    pub fn from_folder(folder: &Path) -> Result<Self, ModelError> {
        Ok(Self::with_stored(folder).map_err(ModelError::told)?.2)
    }

    /// The `model_type` of a folder, or what stands for it.
    ///
    /// # Errors
    /// As [`from_folder`](Self::from_folder).
    pub(super) fn family_of(place: &Path) -> Result<String, ModelError> {
        Ok(Self::read_stored(place)?.1)
    }

    /// The config of a folder, with its family and everything that it holds.
    pub(super) fn with_stored(place: &Path) -> Result<(&'static Family, Stored, Self), ModelError> {
        let (stored, model_type, by) = Self::read_stored(place)?;
        let path = folder_of(place).join("config.json");
        Self::of_family(stored, model_type, by).map_err(|cause| ModelError::BadConfig { path, cause })
    }

    fn read_stored(place: &Path) -> Result<(Stored, String, FamilyBy), ModelError> {
        let folder = folder_of(place);
        let path = folder.join("config.json");
        let text = std::fs::read(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => ModelError::NoConfig(folder.to_owned()),
            _ => ModelError::Unreadable { path: path.clone(), cause: error.to_string() },
        })?;
        let bad = |cause| ModelError::BadConfig { path: path.clone(), cause };
        let stored = Stored::parse(&text).map_err(bad)?;
        let (model_type, by) = match evidence::named(&stored).map_err(bad)? {
            Some(named) => named,
            None => {
                let checkpoint = Checkpoint::open(place)?;
                evidence::found(&stored, folder, checkpoint.tensors().keys()).map_err(bad)?
            }
        };
        Ok((stored, model_type, by))
    }

    /// Reads the text of a `config.json` that names its family; an error says what is wrong with it.
    pub fn from_json(text: &[u8]) -> Result<Self, String> {
        let stored = Stored::parse(text)?;
        let none = "it has neither model_type nor architectures, which name the family";
        let (model_type, by) = evidence::named(&stored)?.ok_or(none)?;
        Ok(Self::of_family(stored, model_type, by)?.2)
    }

    fn of_family(stored: Stored, model_type: String, by: FamilyBy) -> Result<(&'static Family, Stored, Self), String> {
        let family = Family::of(&model_type)?;
        let stored = settings::renamed(family.settings, stored)?;
        let config = (family.config)(&stored)?;
        settings::check(family.settings, &stored, &config)?;
        Ok((family, stored, Self { family: model_type, family_by: by, ..config }))
    }

    /// Reads what all families have, under the keys of one of them.
    pub(super) fn read(stored: &Stored, keys: &Keys) -> Result<Self, String> {
        // Bounds far above any real encoder, and low enough that no product of them overflows.
        let bounded = |(key, default): (&str, usize), least: usize, most: usize| {
            let value = stored.number(key, default)?;
            let fits = (least..=most).contains(&value);
            if fits { Ok(value) } else { Err(format!("{key} is {value}, which is outside {least} to {most}")) }
        };
        let layers = bounded(keys.layers, 1, 1_000)?;
        let heads = bounded(keys.heads, 1, 1_000)?;
        let hidden = bounded(keys.hidden, 1, 100_000)?;
        let positions = bounded(keys.positions, 1, 1_000_000)?;
        if !hidden.is_multiple_of(heads) {
            return Err(format!("{} {hidden} cannot be shared out among {heads} heads", keys.hidden.0));
        }
        let layer_norm_eps = stored.float(keys.eps.0, keys.eps.1)?;
        if !(0.0..1.0).contains(&layer_norm_eps) {
            return Err(format!("{} is {layer_norm_eps}, which is outside 0 to 1", keys.eps.0));
        }
        let name = stored.text(keys.activation.0, keys.activation.1)?;
        let activation = Activation::from_name(&name).ok_or_else(|| {
            let known = Activation::NAMES.map(|(name, _)| name).join(", ");
            format!("its {} {name} is not known; known are {known}", keys.activation.0)
        })?;
        let embedding = match keys.embedding {
            None => hidden,
            Some(key) => match bounded(key, 0, 100_000)? {
                0 => hidden,
                width => width,
            },
        };
        let problem = match stored.text("problem_type", "single_label_classification")?.as_str() {
            "single_label_classification" => Problem::SingleLabelClassification,
            "multi_label_classification" => Problem::MultiLabelClassification,
            "regression" => Problem::Regression,
            other => return Err(format!("its problem_type {other} is not known")),
        };
        Ok(Self {
            family: String::new(), // whoever has found it writes it in
            family_by: FamilyBy::Name,
            layers,
            heads,
            hidden,
            embedding,
            intermediate: bounded(keys.intermediate, 1, 1_000_000)?,
            activation,
            layer_norm_eps,
            positions,
            position_rows: positions,
            types: keys.types.map_or(Ok(0), |key| bounded(key, if key.1 == 0 { 0 } else { 1 }, 1_000))?,
            vocabulary: bounded(keys.vocabulary, 1, 10_000_000)?,
            pruned: stored.pruned(layers, heads)?,
            architecture: stored.words("architectures")?.into_iter().next(),
            labels: stored.labels()?,
            problem,
            tied: stored.flag("tie_word_embeddings", true)?,
            note: Some(stored.text("headlight_note", "")?).filter(|note| !note.is_empty()),
            norm_bias: true,
            head_bias: true,
            decoder_bias: true,
            window: 0,
        })
    }

    /// For families whose positions are counted from the padding id on: so many fewer are left for tokens.
    pub(super) fn with_positions_after(mut self, padding: usize) -> Result<Self, String> {
        let left = self.position_rows.checked_sub(padding.saturating_add(1)).filter(|left| *left > 0);
        self.positions = left.ok_or_else(|| {
            format!(
                "its {} positions (max_position_embeddings), counted from pad_token_id {padding} on, leave none for tokens",
                self.position_rows
            )
        })?;
        Ok(self)
    }

    /// Width of one head.
    pub fn head_dim(&self) -> usize {
        self.hidden / self.heads
    }

    /// The heads that a layer still has, by number.
    pub fn heads_left(&self, layer: usize) -> Vec<usize> {
        (0..self.heads).filter(|&head| !self.pruned.contains(&HeadId::new(layer, head))).collect()
    }

    /// The task that the checkpoint's class is for, of those that are known.
    pub(super) fn task(&self) -> Option<Task> {
        let class = self.architecture.as_deref()?;
        // ELECTRA's is for another task.
        let is_pretraining = class.ends_with("ForPreTraining") && ["bert", "albert"].contains(&self.family.as_str());
        let known = [
            ("ForMaskedLM", Task::MaskedLm),
            ("ForSequenceClassification", Task::SequenceClassification),
            ("ForTokenClassification", Task::TokenClassification),
            ("ForQuestionAnswering", Task::QuestionAnswering),
            ("ForNextSentencePrediction", Task::NextSentence),
        ];
        let found = known.into_iter().find(|(ending, _)| class.ends_with(ending)).map(|(_, task)| task);
        found.or(is_pretraining.then_some(Task::MaskedLm))
    }

    /// The checkpoint's class has a pooler, where its family has one.
    pub(super) fn has_pooler(&self) -> bool {
        let heads = ["ForSequenceClassification", "ForNextSentencePrediction", "ForPreTraining", "ForMultipleChoice"];
        let of_pooled = ["bert", "albert"].contains(&self.family.as_str());
        self.architecture.as_deref().is_some_and(|class| {
            class.ends_with("Model") || (of_pooled && heads.iter().any(|ending| class.ends_with(ending)))
        })
    }

    /// Whether the checkpoint was saved for a task, such as `TokenClassification`; without an architecture, `otherwise`.
    pub(super) fn is_for(&self, task: &str, otherwise: bool) -> bool {
        self.architecture.as_deref().filter(|name| name.contains("For")).map_or(otherwise, |name| name.ends_with(task))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_run_is_refused_with_its_cause() {
        for (json, wanted) in [
            (r#"{"model_type": "bert", "num_hidden_layers": 1000000000}"#, "num_hidden_layers is 1000000000"),
            (r#"{"model_type": "bert", "num_attention_heads": 0}"#, "num_attention_heads is 0"),
            (r#"{"model_type": "bert", "hidden_size": 100, "num_attention_heads": 12}"#, "cannot be shared out"),
            (r#"{"model_type": "bert", "hidden_act": "mish"}"#, "gelu_new"),
            (r#"{"model_type": "gpt2"}"#, "gpt2"),
            (r#"{"model_type": "bert", "position_embedding_type": "relative_key"}"#, "relative_key"),
            (r#"{"model_type": "bert", "is_decoder": true}"#, "decoder"),
            (r#"{"model_type": "bert", "layer_norm_eps": -1}"#, "layer_norm_eps"),
            (r#"{"model_type": "bert", "pruned_heads": {"12": [0]}}"#, "there is no head 12.0"),
            (r#"{"model_type": "bert", "pruned_heads": {"x": [0]}}"#, "a layer called “x”"),
            (r#"{"model_type": "bert", "id2label": {"0": "a", "2": "b"}}"#, "number its 2 classes from 0"),
            (r#"{"model_type": "bert", "problem_type": "guessing"}"#, "guessing"),
            ("{}", "neither model_type nor architectures"),
            (r#"{"model_type": null, "architectures": ["GPT2LMHeadModel"]}"#, "GPT2LMHeadModel, which is of no family"),
            (
                r#"{"architectures": ["BertModel", "RobertaModel"]}"#,
                r#"add "model_type": "bert" or "model_type": "roberta""#,
            ),
            ("not JSON", "expected"),
            (r#"{"model_type": "bert", "hidden_size": -3}"#, "hidden_size is -3, which is no whole number"),
            (r#"[1]"#, "invalid type"),
            (r#"{"model_type": "roberta", "max_position_embeddings": 2}"#, "leave none for tokens"),
            (r#"{"model_type": "albert", "num_hidden_groups": 0}"#, "must be at least 1"),
            (r#"{"model_type": "modernbert", "rope_parameters": {"full_attention": {"rope_type": "yarn"}}}"#, "yarn"),
            (r#"{"model_type": "modernbert", "hidden_size": 36, "num_attention_heads": 12}"#, "must be even"),
        ] {
            let cause = Config::from_json(json.as_bytes()).unwrap_err();
            assert!(cause.contains(wanted), "{json} gave: {cause}");
        }
    }

    #[test]
    fn a_config_with_nothing_but_its_family_is_bert_base() {
        let config = Config::from_json(br#"{"model_type": "bert"}"#).unwrap();
        assert_eq!((config.layers, config.heads, config.hidden, config.head_dim()), (12, 12, 768, 64));
        assert_eq!(config.layer_norm_eps, 1e-12);
        assert!(config.pruned.is_empty() && config.labels.is_empty() && config.tied);
    }

    #[test]
    fn pruned_heads_and_labels_are_read() {
        let json =
            r#"{"model_type": "bert", "pruned_heads": {"0": [1], "3": [4, 5]}, "id2label": {"1": "yes", "0": "no"}}"#;
        let config = Config::from_json(json.as_bytes()).unwrap();
        assert_eq!(config.pruned.iter().map(ToString::to_string).collect::<Vec<_>>(), ["0.1", "3.4", "3.5"]);
        assert_eq!(config.heads_left(3), [0, 1, 2, 3, 6, 7, 8, 9, 10, 11]);
        assert_eq!(config.labels, ["no", "yes"]);
    }
}
