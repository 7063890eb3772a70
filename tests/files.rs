//! Every kind of file gives the same model, and what is wrong with a file is told in a sentence; nothing that a file holds
//! can bring the program down. `tests/golden/make.py` made the files.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

#[path = "support/program.rs"]
mod program;
mod support;

use std::path::{Path, PathBuf};

use headlight::model::{Encoder, Model};
use headlight::run::Run;

const TEXT: &str = "the cat sat on the mat";

fn file_model(name: &str) -> PathBuf {
    support::clone_root().join("tests/golden/files").join(name)
}

fn run(folder: &Path) -> Run {
    let model = Model::open(folder).unwrap();
    model.run(model.tokenize(&support::single(TEXT)).unwrap(), &mut ()).unwrap()
}

/// The greatest difference of hidden states and logits.
fn difference(a: &Run, b: &Run) -> f32 {
    let numbers = |run: &Run| -> Vec<f32> {
        run.hidden.iter().flat_map(|layer| layer.iter()).chain(run.outputs[0].logits.iter()).copied().collect()
    };
    numbers(a).iter().zip(numbers(b)).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn every_kind_of_file_gives_the_same_model() {
    let wanted = run(&support::task_model("sequence"));
    for name in ["zip", "legacy", "state-dict", "shards", "bin-shards", "old-names"] {
        assert_eq!(difference(&run(&file_model(name)), &wanted), 0.0, "{name}");
    }
    assert!(difference(&run(&file_model("zip-float16")), &wanted) < 0.02);
    assert!(difference(&run(&file_model("zip-bfloat16")), &wanted) < 0.2);
}

#[test]
fn the_report_names_files_and_what_was_renamed_or_unused() {
    let report = |name: &str| Model::open(&file_model(name)).unwrap().info().report.clone();
    assert_eq!(report("shards").files, ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]);
    assert!(report("zip").renamed.is_empty() && report("zip").unused.is_empty());
    let old = report("old-names");
    assert_eq!(old.unused, ["dropped.weight"], "the buffer of positions is no news");
    let renamed = ("bert.embeddings.LayerNorm.weight".into(), "bert.embeddings.LayerNorm.gamma".into());
    assert!(old.renamed.contains(&renamed) && old.renamed.len() == 10, "{:?}", old.renamed);
}

/// A copy of a folder, to be damaged.
fn copy(from: &Path) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    folder
}

fn refusal(folder: &Path) -> String {
    let error = Encoder::load(folder).expect_err("refused").to_string();
    assert!(!error.contains('\n') && error.len() < 400, "{error}");
    error
}

#[test]
fn a_file_cut_short_anywhere_is_refused_in_a_sentence() {
    for (name, file) in
        [("zip", "pytorch_model.bin"), ("legacy", "pytorch_model.bin"), ("shards", "model-00001-of-00002.safetensors")]
    {
        let folder = copy(&file_model(name));
        let path = folder.path().join(file);
        let whole = std::fs::read(&path).unwrap();
        let mut random = support::seeded(11);
        for _ in 0..60 {
            let length = random.usize(0..whole.len() - 1);
            std::fs::write(&path, &whole[..length]).unwrap();
            refusal(folder.path());
        }
    }
}

#[test]
fn bytes_changed_at_random_never_bring_the_program_down() {
    for (name, file) in [
        ("zip", "pytorch_model.bin"),
        ("legacy", "pytorch_model.bin"),
        ("state-dict", "pytorch_model.bin"),
        ("shards", "model-00001-of-00002.safetensors"),
        ("shards", "model.safetensors.index.json"),
        ("zip", "config.json"),
        ("zip", "vocab.txt"),
        ("zip", "tokenizer_config.json"),
    ] {
        let folder = copy(&file_model(name));
        let path = folder.path().join(file);
        let whole = std::fs::read(&path).unwrap();
        let mut random = support::seeded(12);
        for _ in 0..150 {
            let mut damaged = whole.clone();
            // Mostly where names, shapes and places are.
            let reach = if random.bool() { damaged.len().min(3000) } else { damaged.len() };
            for _ in 0..random.usize(1..6) {
                let at = random.usize(0..reach);
                damaged[at] = random.u8(..);
            }
            std::fs::write(&path, &damaged).unwrap();
            // Numbers may be damaged without a sign; all else gives a model or a sentence.
            if let Err(error) = Model::open(folder.path()) {
                assert!(!error.to_string().contains('\n'), "{error}");
            }
        }
    }
}

#[test]
fn headers_that_lie_are_refused_before_memory_is_asked_for() {
    let folder = copy(&support::task_model("sequence"));
    let path = folder.path().join("model.safetensors");
    let with = |header: &str, data: usize| {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.extend(vec![0; data]);
        std::fs::write(&path, bytes).unwrap();
        refusal(folder.path())
    };
    assert!(with(r#"{"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}"#, 4).contains("speaks of 8 bytes"));
    assert!(with(r#"{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}"#, 8).contains("speaks of 4 bytes"));
    let overlap = r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}"#;
    assert!(with(overlap, 12).contains("its header"));
    let huge = r#"{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}}"#;
    assert!(with(huge, 8).contains("its header"));
    assert!(with(r#"{"a": {"dtype": "F32", "shape": [2], "data_offsets": [8, 0]}}"#, 8).contains("its header"));
    assert!(with("{", 0).contains("its header"));
    std::fs::write(&path, u64::MAX.to_le_bytes()).unwrap();
    assert!(refusal(folder.path()).contains("its header would have"));
    std::fs::write(&path, b"abc").unwrap();
    assert!(refusal(folder.path()).contains("shorter than its own header"));
}

#[test]
fn an_index_stays_in_its_folder_and_names_what_is_there() {
    let folder = copy(&file_model("shards"));
    let index = folder.path().join("model.safetensors.index.json");
    let text = std::fs::read_to_string(&index).unwrap();
    let with = |from: &str, to: &str| {
        std::fs::write(&index, text.replace(from, to)).unwrap();
        refusal(folder.path())
    };
    for outside in ["../model.safetensors", "/etc/passwd", "..", "a/b.safetensors"] {
        assert!(
            with("model-00001-of-00002.safetensors", outside).contains("no file of the model's folder"),
            "{outside}"
        );
    }
    assert!(with("model-00001-of-00002.safetensors", "none.safetensors").contains("none.safetensors"));
    assert!(with("\"classifier.bias\"", "\"classifier.other\"").contains("no shard holds classifier.other"));
    assert!(with("{", "[").contains("is no file of weights"));
}

#[test]
fn a_pickle_that_would_run_code_is_refused_and_runs_nothing() {
    let folder = copy(&file_model("legacy"));
    let trace = folder.path().join("trace");
    let command = format!("touch {}", trace.display());
    let mut pickle = b"\x80\x02cposix\nsystem\nq\0X".to_vec();
    pickle.extend((command.len() as u32).to_le_bytes());
    pickle.extend(command.as_bytes());
    pickle.extend(b"\x85R.");
    std::fs::write(folder.path().join("pytorch_model.bin"), &pickle).unwrap();
    let error = refusal(folder.path());
    assert!(error.contains("posix.system") && error.contains("can run code"), "{error}");
    assert!(!trace.exists());
}

#[test]
fn an_archive_with_compressed_members_is_refused() {
    // A local header and a central directory that claim deflate for data.pkl.
    let name = b"archive/data.pkl";
    let mut bytes = b"PK\x03\x04\x14\0\0\0\x08\0\0\0\0\0\0\0\0\0\x01\0\0\0\x01\0\0\0".to_vec();
    bytes.extend((name.len() as u16).to_le_bytes());
    bytes.extend([0, 0]);
    bytes.extend(name);
    bytes.push(0);
    let start = bytes.len() as u32;
    bytes.extend(b"PK\x01\x02\x14\0\x14\0\0\0\x08\0\0\0\0\0\0\0\0\0\x01\0\0\0\x01\0\0\0");
    bytes.extend((name.len() as u16).to_le_bytes());
    bytes.extend([0; 12]);
    bytes.extend([0; 4]);
    bytes.extend(name);
    let size = bytes.len() as u32 - start;
    bytes.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    bytes.extend(size.to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes.extend([0, 0]);
    let folder = copy(&file_model("zip"));
    std::fs::write(folder.path().join("pytorch_model.bin"), bytes).unwrap();
    let error = refusal(folder.path());
    assert!(error.contains("ompress"), "{error}");
}

#[test]
fn weights_that_are_no_numbers_are_loaded_with_a_warning_and_the_layer_is_named() {
    let folder = copy(&support::task_model("sequence"));
    let path = folder.path().join("model.safetensors");
    let mut bytes = std::fs::read(&path).unwrap();
    let (size, header) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
    let name = "bert.encoder.layer.1.output.dense.bias";
    let start = 8 + size + header.info(name).unwrap().data_offsets.0;
    bytes[start..start + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    std::fs::write(&path, bytes).unwrap();
    let model = Model::open(folder.path()).unwrap();
    assert_eq!(model.info().report.not_finite, [name]);
    let notices = run(folder.path()).notices();
    assert!(notices.iter().any(|notice| notice.contains("first appear in layer 1")), "{notices:?}");
}

/// A copy of a model of two layers with two heads, in which one number of a weight is none.
fn with_nan(weight: &str, number: usize) -> tempfile::TempDir {
    let folder = copy(&support::task_model("sequence"));
    let path = folder.path().join("model.safetensors");
    let mut bytes = std::fs::read(&path).unwrap();
    let (size, header) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
    let start = 8 + size + header.info(weight).unwrap().data_offsets.0 + 4 * number;
    bytes[start..start + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    std::fs::write(&path, bytes).unwrap();
    folder
}

#[test]
fn one_notice_names_the_first_layer_head_and_site_of_numbers_that_are_none() {
    for (weight, number, place) in [
        ("bert.embeddings.LayerNorm.bias", 3, "in the embeddings, before layer 0"),
        ("bert.encoder.layer.1.attention.self.query.bias", 9, "in layer 1, head 1: its attention weights"),
        ("bert.encoder.layer.0.attention.self.key.bias", 2, "in layer 0, head 0: its attention weights"),
        ("bert.encoder.layer.0.attention.self.value.bias", 9, "in layer 0, head 1: its values"),
        ("bert.encoder.layer.1.output.LayerNorm.weight", 0, "in layer 1, behind its heads"),
        ("bert.pooler.dense.bias", 0, "in the pooler"),
        ("classifier.bias", 0, "in the answer of the task head"),
    ] {
        let folder = with_nan(weight, number);
        let notices = run(folder.path()).notices();
        let found: Vec<_> = notices.iter().filter(|notice| notice.contains("first appear")).collect();
        assert!(found.len() == 1 && found[0].contains(place), "{weight}: {notices:?}");
    }
    assert!(run(&support::task_model("sequence")).notices().is_empty());
}

#[test]
fn tables_have_null_or_an_empty_cell_for_numbers_that_are_none() {
    let folder = with_nan("bert.encoder.layer.1.attention.self.query.bias", 9);
    let (model, out) = (folder.path().display().to_string(), tempfile::tempdir().unwrap());
    let texts = out.path().join("texts.txt");
    std::fs::write(&texts, "the cat sat\tthe dog ran\nthe dog sat\tthe cat\n").unwrap();
    for by in ["loo", "gradient"] {
        for ending in ["json", "csv"] {
            let table = out.path().join(format!("{by}.{ending}"));
            let (texts, path) = (texts.display().to_string(), table.display().to_string());
            let words =
                ["rank", "--model", &model, "--texts", &texts, "--target", "similarity", "--by", by, "--out", &path];
            program::success(&words);
            let text = std::fs::read_to_string(&table).unwrap();
            assert!(!text.contains("NaN") && !text.contains("inf"), "{by}: {text}");
            if ending == "json" {
                let table: serde_json::Value = serde_json::from_str(&text).unwrap();
                let key = if by == "loo" { "effect" } else { "importance" };
                let heads = table["heads"].as_array().unwrap();
                assert!(heads.len() == 4 && heads.iter().any(|head| head[key].is_null()), "{by}: {text}");
            } else {
                let columns = text.lines().next().unwrap().matches(',').count();
                assert!(text.lines().all(|line| line.matches(',').count() == columns), "{by}: {text}");
                assert!(text.lines().any(|line| line.ends_with(",,") || line.ends_with(",")), "{by}: {text}");
            }
        }
    }
}

#[test]
fn a_missing_weight_or_one_of_a_wrong_shape_refuses_the_load() {
    let folder = copy(&support::task_model("sequence"));
    let path = folder.path().join("config.json");
    let config = std::fs::read_to_string(&path).unwrap();
    let with = |from: &str, to: &str| {
        std::fs::write(&path, config.replace(from, to)).unwrap();
        refusal(folder.path())
    };
    let layers = with("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3");
    assert!(layers.contains("bert.encoder.layer.2") && layers.contains("missing"), "{layers}");
    let wide = with("\"intermediate_size\": 24", "\"intermediate_size\": 25");
    assert!(wide.contains("[24, 16]") && wide.contains("[25, 16]"), "{wide}");
    let labels = with("\"2\": \"glad\"", "\"2\": \"glad\", \"3\": \"mad\"");
    assert!(labels.contains("classifier.weight"), "{labels}");
}

#[test]
fn tokenizers_that_are_none_give_a_sentence() {
    let folder = copy(&support::task_model("sequence"));
    let refused = || {
        let error = Model::open(folder.path()).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(!error.contains('\n') && error.len() < 600, "{error}");
        error
    };
    let whole = folder.path().join("tokenizer.json");
    let deep = "[".repeat(10_000) + &"]".repeat(10_000);
    for (text, wanted) in [
        ("no JSON", "is not a tokenizer"),
        ("{}", "is not a tokenizer"),
        (deep.as_str(), "is not a tokenizer"),
        (&format!(r#"{{"version": "1.0", "model": {deep}}}"#), "is not a tokenizer"),
    ] {
        std::fs::write(&whole, text).unwrap();
        assert!(refused().contains(wanted), "{}", refused());
    }
    std::fs::remove_file(&whole).unwrap();
    let words = folder.path().join("vocab.txt");
    let vocabulary = std::fs::read_to_string(&words).unwrap();
    std::fs::write(&words, vocabulary.replace("[UNK]\n", "[unk]\n")).unwrap();
    assert!(refused().contains("[UNK] is missing"), "{}", refused());
    std::fs::write(&words, vocabulary.clone() + "one\ntwo\n").unwrap();
    assert!(refused().contains("51 pieces") && refused().contains("vectors for 49"), "{}", refused());
    // Lines of another system, and a word that stands twice.
    std::fs::write(&words, vocabulary.replace('\n', "\r\n")).unwrap();
    let wanted = run(&support::task_model("sequence"));
    assert_eq!(difference(&run(folder.path()), &wanted), 0.0, "CRLF");
    std::fs::write(&words, vocabulary.replace("mat\n", "cat\n")).unwrap();
    assert!(Model::open(folder.path()).is_ok(), "the word has one of its numbers");
}

#[test]
#[cfg(unix)]
fn loops_and_folders_that_vanish_give_a_sentence() {
    let folder = copy(&support::task_model("sequence"));
    let weights = folder.path().join("model.safetensors");
    std::fs::remove_file(&weights).unwrap();
    std::os::unix::fs::symlink(&weights, &weights).unwrap();
    assert!(refusal(folder.path()).contains("has no weights"));
    let config = folder.path().join("config.json");
    std::fs::remove_file(&config).unwrap();
    std::os::unix::fs::symlink(&config, &config).unwrap();
    assert!(refusal(folder.path()).contains("config.json"));
    std::fs::remove_dir_all(folder.path()).unwrap();
    assert!(refusal(folder.path()).contains("no config.json"));
}

#[test]
fn a_text_of_ten_megabytes_is_cut_and_told() {
    let model = Model::open(&support::task_model("sequence")).unwrap();
    let text = "the cat sat on a mat ".repeat(500_000);
    assert!(text.len() > 10_000_000);
    let run = model.run(model.tokenize(&support::single(&text)).unwrap(), &mut ()).unwrap();
    assert_eq!(run.input.tokens.len(), 32);
    assert!(run.notices()[0].contains("32 of more than 299"), "{:?}", run.notices());
}

#[test]
fn a_file_of_weights_opens_with_the_config_beside_it() {
    let folder = copy(&support::task_model("sequence"));
    let other = folder.path().join("best.safetensors");
    std::fs::rename(folder.path().join("model.safetensors"), &other).unwrap();
    let model = Model::open(&other).unwrap();
    assert_eq!(model.info().report.files, ["best.safetensors"]);
    assert_eq!(model.info().folder, other);
    assert_eq!(difference(&run(&other), &run(&support::task_model("sequence"))), 0.0);
    let out = folder.path().join("pruned");
    headlight::model::prune(&other, &["0.0".parse().unwrap()].into(), Default::default(), &out).unwrap();
    assert!(Model::open(&out).is_ok());
}
