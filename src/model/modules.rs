//! Reading `modules.json` of `sentence-transformers` and what lies in the folders that it names. What cannot be followed
//! takes the sentence's vector away, and says why; the encoder and its maps need none of it.

use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::ModelError;
use super::checkpoint::{Checkpoint, Seen, Weights};
use super::pooling::PoolingMode;
use super::sentence::{Activation, Dense, Feature, Residual, SentenceHead, Step};
use crate::run::{Pooling, as_utf8};

#[derive(Debug, Deserialize)]
struct Module {
    #[serde(default)]
    path: String,
    #[serde(rename = "type")]
    kind: String,
}

/// What stands for the encoder; the names without “Transformer” are of before 2020.
const ENCODERS: [&str; 7] = ["Transformer", "BERT", "RoBERTa", "DistilBERT", "ALBERT", "XLMRoBERTa", "CamemBERT"];

impl Module {
    /// The module's name if it is one of the library's own.
    fn own_name(&self) -> Option<&str> {
        self.kind.strip_prefix("sentence_transformers.")?.rsplit('.').next()
    }

    fn is_encoder(&self) -> bool {
        self.own_name().is_some_and(|name| ENCODERS.contains(&name))
    }
}

/// How a model of `hidden` numbers a token makes a sentence's vector: as its `modules.json` says, or without one the mean,
/// marked as not declared.
pub(super) fn declared(folder: &Path, hidden: usize) -> (Pooling, Option<SentenceHead>) {
    match follow(folder, hidden) {
        Ok(None) => (Pooling::default(), Some(SentenceHead::mean())),
        Ok(Some((head, steps))) => (Pooling { steps, declared: true, unavailable: None }, Some(head)),
        Err(cause) => (Pooling::none(cause), None),
    }
}

fn modules(folder: &Path) -> Result<Option<Vec<Module>>, ModelError> {
    read(&folder.join("modules.json"))
}

fn follow(folder: &Path, hidden: usize) -> Result<Option<(SentenceHead, Vec<String>)>, String> {
    let Some(modules) = modules(folder).map_err(|error| error.to_string())? else { return Ok(None) };
    let mut reader = Reader { tokens: hidden, sentence: None, steps: Vec::new(), words: Vec::new() };
    for (place, module) in modules.iter().enumerate() {
        if module.is_encoder() {
            if place > 0 {
                return Err(format!("modules.json names {} where it is not the first module", module.kind));
            }
            continue;
        }
        let Some(path) = inside(folder, &module.path) else {
            return Err(format!("modules.json names “{}”, which leads out of the model's folder", module.path));
        };
        reader.module(module, &path)?;
    }
    match reader.sentence {
        Some(_) => Ok(Some((SentenceHead { steps: reader.steps }, reader.words))),
        None => Err("no module of modules.json makes one vector of all tokens (Pooling)".into()),
    }
}

/// A module's folder, which lies in the model's.
fn inside(folder: &Path, path: &str) -> Option<PathBuf> {
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    (Path::new(path).components().all(plain) && !path.contains('\\')).then(|| folder.join(path))
}

/// What has been read, and how wide the vectors are there.
struct Reader {
    tokens: usize,
    sentence: Option<usize>,
    steps: Vec<Step>,
    words: Vec<String>,
}

impl Reader {
    fn module(&mut self, module: &Module, path: &Path) -> Result<(), String> {
        match module.own_name() {
            Some("Pooling") => self.pooling(module, path),
            Some("Dense") => self.dense(module, path),
            Some("Normalize") => self.normalize(module, path),
            Some("LayerNorm") => self.layer_norm(module, path),
            Some("Dropout") => Ok(()), // it acts in training alone
            _ => Err(format!("the model's module {} is not known to Headlight", module.kind)),
        }
    }

    fn pooling(&mut self, module: &Module, path: &Path) -> Result<(), String> {
        let stored = config(path)?.ok_or_else(|| format!("{} has no config.json", named(module)))?;
        let modes = modes(&stored).map_err(|cause| format!("{} {cause}", named(module)))?;
        let include_prompt = stored.get("include_prompt").is_none_or(truthy);
        let words: Vec<&str> = modes.iter().map(|mode| mode.words()).collect();
        let joined = if words.len() > 1 { ", end to end" } else { "" };
        let prompt = if include_prompt { "" } else { ", without the tokens of a prompt" };
        self.words.push(format!("{}{joined}{prompt}", words.join(" and ")));
        self.sentence = Some(self.tokens * modes.len());
        self.steps.push(Step::Pool { modes, include_prompt });
        Ok(())
    }

    fn dense(&mut self, module: &Module, path: &Path) -> Result<(), String> {
        let bad = |cause: String| format!("{} cannot be followed: {cause}", named(module));
        let stored = config(path)?.unwrap_or_default();
        let number = |key: &str| {
            let found = stored.get(key).and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok());
            found.ok_or_else(|| bad(format!("its config.json has no number {key}")))
        };
        let (into, out) = (number("in_features")?, number("out_features")?);
        let (from, to) = features(&stored).map_err(&bad)?;
        match self.width(from) {
            Some(width) if width == into => {}
            Some(width) => return Err(bad(format!("it takes {into} numbers, and what comes before gives {width}"))),
            None => return Err(bad("it stands before the pooling whose vector it reads".into())),
        }
        let class = match stored.get("activation_function") {
            None => "torch.nn.modules.activation.Tanh",
            Some(class) => class.as_str().unwrap_or("null"),
        };
        let activation = Activation::from_class(class);
        let activation = activation.ok_or_else(|| bad(format!("the activation {class} is not known to Headlight")))?;
        let biased = stored.get("bias").is_none_or(truthy);
        let residual = stored.get("use_residual").is_some_and(truthy);
        let dense = weights(path, |weights| {
            let linear = weights.linear_biased("linear", out, into, biased)?;
            let residual = match (residual, into == out) {
                (false, _) => Residual::None,
                (true, true) => Residual::Input,
                (true, false) => Residual::Projected(weights.linear_biased("residual", out, into, false)?),
            };
            Ok(Dense { linear, activation, residual })
        })
        .map_err(&bad)?;
        let by = if activation.name == "Identity" { String::new() } else { format!(" and {}", activation.name) };
        let each = if to == Feature::Tokens { " for each token" } else { "" };
        self.words.push(format!("a dense layer from {into} to {out} numbers{by}{each}"));
        *self.width_mut(to) = out;
        self.steps.push(Step::Dense { dense, from, to });
        Ok(())
    }

    fn normalize(&mut self, module: &Module, path: &Path) -> Result<(), String> {
        let stored = config(path)?.unwrap_or_default();
        let (from, to) = features(&stored).map_err(|cause| format!("{} cannot be followed: {cause}", named(module)))?;
        // Without what it reads it does nothing, as in the library.
        let Some(width) = self.width(from) else { return Ok(()) };
        *self.width_mut(to) = width;
        let each = if to == Feature::Tokens { "each token " } else { "" };
        self.words.push(format!("{each}scaled to length 1"));
        self.steps.push(Step::Normalize { from, to });
        Ok(())
    }

    fn layer_norm(&mut self, module: &Module, path: &Path) -> Result<(), String> {
        let bad = |cause: String| format!("{} cannot be followed: {cause}", named(module));
        let width = self.sentence.ok_or_else(|| bad("it stands before the pooling whose vector it reads".into()))?;
        // The epsilon is PyTorch's own: the module has no key for another.
        let norm = weights(path, |weights| weights.layer_norm("norm", width, 1e-5)).map_err(bad)?;
        self.words.push("a layer norm".to_owned());
        self.steps.push(Step::LayerNorm(norm));
        Ok(())
    }

    fn width(&self, of: Feature) -> Option<usize> {
        match of {
            Feature::Tokens => Some(self.tokens),
            Feature::Sentence => self.sentence,
        }
    }

    fn width_mut(&mut self, of: Feature) -> &mut usize {
        match of {
            Feature::Tokens => &mut self.tokens,
            Feature::Sentence => self.sentence.get_or_insert(0),
        }
    }
}

/// `the model's module 2_Dense`
fn named(module: &Module) -> String {
    let name = if module.path.is_empty() { &module.kind } else { &module.path };
    format!("the model's module {name}")
}

/// The newer key, a name or several to be joined; else the older ones, each true or false.
fn modes(stored: &Map<String, Value>) -> Result<Vec<PoolingMode>, String> {
    let unknown = |value: &Value| {
        let name = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("pools by “{name}”, which is not known to Headlight")
    };
    let mode = |value: &Value| value.as_str().and_then(PoolingMode::from_name).ok_or_else(|| unknown(value));
    match stored.get("pooling_mode") {
        Some(Value::Array(several)) if !several.is_empty() => several.iter().map(mode).collect(),
        Some(single) => Ok(vec![mode(single)?]),
        None => {
            let known = |key: &str| PoolingMode::older_keys().any(|(older, _)| older == key);
            let other =
                stored.iter().find(|(key, value)| key.starts_with("pooling_mode_") && !known(key) && truthy(value));
            if let Some((key, _)) = other {
                return Err(unknown(&Value::from(key.as_str())));
            }
            let on = |key: &str| stored.get(key).is_some_and(truthy);
            let chosen: Vec<PoolingMode> =
                PoolingMode::older_keys().filter(|(key, _)| on(key)).map(|(_, mode)| mode).collect();
            Ok(if chosen.is_empty() { vec![PoolingMode::Mean] } else { chosen })
        }
    }
}

/// What a module reads and writes.
fn features(stored: &Map<String, Value>) -> Result<(Feature, Feature), String> {
    let feature = |key: &str, default| match stored.get(key) {
        None | Some(Value::Null) => Ok(default),
        Some(name) => match name.as_str() {
            Some("sentence_embedding") => Ok(Feature::Sentence),
            Some("token_embeddings") => Ok(Feature::Tokens),
            _ => Err(format!("{key} is {name}, which is not known to Headlight")),
        },
    };
    let from = feature("module_input_name", Feature::Sentence)?;
    let to = feature("module_output_name", from)?;
    if from != to {
        return Err("it reads tokens and writes the sentence's vector, or the reverse".into());
    }
    Ok((from, to))
}

/// What Python takes for true.
fn truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(on) => *on,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(values) => !values.is_empty(),
        Value::Object(values) => !values.is_empty(),
    }
}

fn config(path: &Path) -> Result<Option<Map<String, Value>>, String> {
    read(&path.join("config.json")).map_err(|error| error.to_string())
}

/// A module's weights, all of which are to be taken.
fn weights<T>(path: &Path, take: impl Fn(&Weights<'_>) -> Result<T, ModelError>) -> Result<T, String> {
    let cause = |error: ModelError| error.to_string();
    let checkpoint = Checkpoint::open(path).map_err(cause)?;
    let heard = |_, _| Ok(());
    let seen = Seen::new(&checkpoint, &heard);
    let taken = take(&Weights::new(&checkpoint, "", "", &seen).outside()).map_err(cause)?;
    match seen.report(&checkpoint, None, &[]).unused.first() {
        None => Ok(taken),
        Some(name) => Err(format!("its weights hold {name}, which its config.json does not speak of")),
    }
}

/// A JSON file, if it is there.
pub(super) fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Option<T>, ModelError> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(ModelError::Unreadable { path: path.to_owned(), cause: error.to_string() }),
    };
    serde_json::from_slice(&as_utf8(&bytes))
        .map(Some)
        .map_err(|error| ModelError::BadConfig { path: path.to_owned(), cause: error.to_string() })
}
