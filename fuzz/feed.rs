//! What is fed with the bytes of a file: one function for each kind, through the library's public surface. The fuzz
//! targets and `tests/corpus.rs` share it. What comes back is the sentence of a refusal.

use std::path::Path;
use std::sync::Arc;

use headlight::model::{Config, Encoder};
use headlight::run::{Limit, Texts};
use headlight::session::Session;
use headlight::text::TextEncoder;

type Fed = Result<(), String>;

/// The model that `fuzz/corpus.py` writes in several kinds of file.
const CONFIG: &str = r#"{"model_type": "bert", "vocab_size": 5, "hidden_size": 4, "num_hidden_layers": 1,
    "num_attention_heads": 2, "intermediate_size": 4, "max_position_embeddings": 8, "type_vocab_size": 2}"#;

pub fn config(bytes: &[u8]) -> Fed {
    Config::from_json(bytes).map(|_| ())
}

pub fn safetensors(bytes: &[u8]) -> Fed {
    model(&[("config.json", CONFIG.as_bytes()), ("model.safetensors", bytes)])
}

pub fn pickle(bytes: &[u8]) -> Fed {
    model(&[("config.json", CONFIG.as_bytes()), ("pytorch_model.bin", bytes)])
}

pub fn tokenizer(bytes: &[u8]) -> Fed {
    text(&[("tokenizer.json", bytes)])
}

/// A file of words, with settings of its own in the first line.
pub fn vocabulary(bytes: &[u8]) -> Fed {
    let end = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1);
    let (settings, words) = bytes.split_at(end);
    text(&[("tokenizer_config.json", settings), ("vocab.txt", words)])
}

/// A SentencePiece model, as each family reads it. Refused is what none can read.
pub fn sentence_piece(bytes: &[u8]) -> Fed {
    let as_family = |family: &str| {
        let config = format!(r#"{{"model_type": "{family}"}}"#);
        text(&[("config.json", config.as_bytes()), ("spm.model", bytes)])
    };
    let fed = ["xlm-roberta", "camembert", "deberta-v2", "albert"].map(as_family);
    fed.into_iter().reduce(|one, other| one.or(other)).unwrap_or(Ok(()))
}

pub fn session(bytes: &[u8]) -> Fed {
    let session = Session::from_json(bytes, Path::new("a.headlight")).map_err(|error| error.to_string())?;
    let _ = session.recipe();
    let folder = folder(&[])?;
    let path = folder.path().join("again.headlight");
    session.write(&path).map_err(|error| error.to_string())?;
    // What was read can be written and read again.
    Session::read(&path).map(|_| ()).map_err(|error| error.to_string())
}

fn model(files: &[(&str, &[u8])]) -> Fed {
    Encoder::load(folder(files)?.path()).map(|_| ()).map_err(|error| error.to_string())
}

fn text(files: &[(&str, &[u8])]) -> Fed {
    let folder = folder(files)?;
    let encoder = TextEncoder::from_folder(folder.path()).map_err(|error| error.to_string())?;
    for text in ["", "the cat, naïve 你好 👩‍👩‍👧 [MASK]\u{0}", "<mask>  1985,\t2,000"] {
        // A tokenizer may refuse a text, in words.
        let _ = encoder.encode(&Arc::new(Texts::pair(text, "a dog")), 16, Limit::Positions);
    }
    Ok(())
}

fn folder(files: &[(&str, &[u8])]) -> Result<tempfile::TempDir, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    for (name, bytes) in files {
        std::fs::write(folder.path().join(name), bytes).map_err(|error| error.to_string())?;
    }
    Ok(folder)
}
