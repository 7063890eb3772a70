//! Weights as people save them: from within wrappers and trainers, half of them missing, or not what their name says. The
//! numbers are those of the goldens, which `transformers` made; `tests/golden/make_weights.py` made what `make.py` did not.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

#[path = "support/program.rs"]
mod program;
mod support;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use headlight::model::{Model, PrunedShape, prune};
use headlight::run::{HeadId, Run, Task};
use safetensors::SafeTensors;
use safetensors::tensor::TensorView;

fn golden(name: &str) -> PathBuf {
    support::clone_root().join("tests/golden").join(name)
}

/// One model of each family and kind of head.
fn models() -> Vec<PathBuf> {
    let inside = |name: &str| std::fs::read_dir(golden(name)).unwrap().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = inside("families").chain(inside("tasks")).filter(|path| path.is_dir()).collect();
    found.sort();
    assert!(found.len() > 20);
    found
}

/// A copy of a folder whose weights have other names: each gives those it is to be found under.
fn renamed(from: &Path, names: impl Fn(&str) -> Vec<String>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten().filter(|entry| entry.path().is_file()) {
        std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    let bytes = std::fs::read(from.join("model.safetensors")).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let mut views: BTreeMap<String, TensorView<'_>> = BTreeMap::new();
    for (name, view) in tensors.tensors() {
        views.extend(names(&name).into_iter().map(|name| (name, view.clone())));
    }
    std::fs::write(folder.path().join("model.safetensors"), safetensors::serialize(views, None).unwrap()).unwrap();
    folder
}

/// The sequence classifier of `tasks/` with some bytes as its weights.
fn with_bin(bytes: &[u8]) -> tempfile::TempDir {
    let folder = renamed(&golden("tasks/sequence"), |name| vec![name.to_owned()]);
    std::fs::remove_file(folder.path().join("model.safetensors")).unwrap();
    std::fs::write(folder.path().join("pytorch_model.bin"), bytes).unwrap();
    folder
}

/// The run that a golden has the reference of.
fn run(folder: &Path, reference: &Path) -> Run {
    let model = Model::open(folder).unwrap_or_else(|error| panic!("{}: {error}", reference.display()));
    let bytes = std::fs::read(reference.join("reference.safetensors")).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    model.run(support::goldens::reference_input(&model, &tensors), &mut ()).unwrap()
}

/// All numbers of a run, of its heads and its pooler too.
fn numbers(run: &Run) -> Vec<f32> {
    let outputs = run.outputs.iter().flat_map(|output| output.logits.iter());
    let hidden = run.hidden.iter().flat_map(|layer| layer.iter());
    hidden.chain(outputs).chain(run.pooler_output.iter().flatten()).copied().collect()
}

#[test]
fn wrappers_hold_for_every_part_of_every_family() {
    for reference in models() {
        let wanted = run(&reference, &reference);
        for wrapper in [
            "module.",
            "model.",
            "_orig_mod.",
            "_fsdp_wrapped_module.",
            "net.",
            "encoder.",
            "module._orig_mod.model.",
            "_orig_mod.module.net.encoder.",
            "base_model.model.",
            "student.",
        ] {
            let folder = renamed(&reference, |name| vec![format!("{wrapper}{name}")]);
            let found = run(folder.path(), &reference);
            assert_eq!(found.outputs.len(), wanted.outputs.len(), "{} in {wrapper}", reference.display());
            assert_eq!(numbers(&found), numbers(&wanted), "{} in {wrapper}", reference.display());
            assert_eq!(found.model.report.unused, wanted.model.report.unused, "{wrapper}");
            assert_eq!(found.model.tasks, wanted.model.tasks);
        }
    }
}

#[test]
fn wrappers_may_stand_inside_names() {
    let reference = golden("tasks/sequence");
    let wanted = numbers(&run(&reference, &reference));
    for (from, to) in [
        ("bert.", "bert.module."),
        ("bert.", "bert._orig_mod."),
        ("encoder.layer.0.", "encoder.layer.0._fsdp_wrapped_module._checkpoint_wrapped_module."),
        ("embeddings.word_embeddings.", "embeddings._fsdp_wrapped_module.word_embeddings."),
        ("classifier.", "classifier.module."),
        // A class of one's own, its head beside the encoder.
        ("bert.", "lit.encoder."),
    ] {
        let outer = if to.starts_with("lit.") { "lit." } else { "" };
        let folder = renamed(&reference, |name| {
            let inner = name.replace(from, to);
            vec![if inner.starts_with(outer) { inner } else { format!("{outer}{inner}") }]
        });
        let found = run(folder.path(), &reference);
        assert_eq!(numbers(&found), wanted, "{from} → {to}");
        assert!(found.model.report.unused.is_empty(), "{from} → {to}: {:?}", found.model.report.unused);
    }
}

#[test]
fn two_encoders_are_refused_by_their_names() {
    let reference = golden("tasks/sequence");
    for [one, other] in [["teacher.", "student."], ["", "ema."], ["query.module.", "passage.module."], ["", "module."]]
    {
        let folder = renamed(&reference, |name| vec![format!("{one}{name}"), format!("{other}{name}")]);
        let error = Model::open(folder.path()).unwrap_err().to_string();
        for part in [format!("“{one}bert.”"), format!("“{other}bert.”"), "2 encoders".into()] {
            assert!(error.contains(&part), "{one} and {other}: {error}");
        }
    }
    // One encoder, two heads of one name.
    let folder = renamed(&reference, |name| match name {
        "classifier.weight" => vec![name.to_owned(), format!("model.{name}")],
        _ => vec![format!("model.{name}")],
    });
    let error = Model::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("both classifier.weight and model.classifier.weight"), "{error}");
}

#[test]
fn a_model_pruned_out_of_a_wrapper_has_plain_names() {
    let reference = golden("tasks/sequence");
    let wrapped = renamed(&reference, |name| vec![format!("module.model.{name}")]);
    let out = tempfile::tempdir().unwrap();
    let [one, other] = ["one", "other"].map(|name| out.path().join(name));
    let heads = [HeadId::new(0, 1)].into();
    prune(&reference, &heads, PrunedShape::Same, &one).unwrap();
    prune(wrapped.path(), &heads, PrunedShape::Same, &other).unwrap();
    let bytes = [one, other].map(|folder| std::fs::read(folder.join("model.safetensors")).unwrap());
    assert!(bytes[0] == bytes[1]);
}

/// The members of the archive that `torch.save` made, its pickle changed.
fn repickled(change: impl Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let file = std::fs::File::open(golden("files/zip/pytorch_model.bin")).unwrap();
    let mut archive = zip::ZipArchive::new(file).unwrap();
    let mut made = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for number in 0..archive.len() {
        let mut member = archive.by_index(number).unwrap();
        let name = member.name().unwrap().into_owned();
        let mut bytes = Vec::new();
        member.read_to_end(&mut bytes).unwrap();
        let bytes = if name.ends_with("data.pkl") { change(&bytes) } else { bytes };
        made.start_file(name, stored).unwrap();
        made.write_all(&bytes).unwrap();
    }
    made.finish().unwrap().into_inner()
}

/// What a pickle holds, without its first and last instruction.
fn body(pickle: &[u8]) -> &[u8] {
    pickle.strip_prefix(b"\x80\x02").unwrap().strip_suffix(b".").unwrap()
}

/// A dictionary with one key for what is there.
fn keyed(key: &str, body: &[u8]) -> Vec<u8> {
    let mut made = b"}X".to_vec();
    made.extend((key.len() as u32).to_le_bytes());
    made.extend(key.as_bytes());
    made.extend(body);
    made.push(b's');
    made
}

fn pickle(body: &[u8]) -> Vec<u8> {
    [b"\x80\x02", body, b"."].concat()
}

#[test]
fn tensors_are_found_under_whatever_a_trainer_calls_them() {
    let reference = golden("tasks/sequence");
    let wanted = numbers(&run(&reference, &reference));
    for keys in [
        &["state_dict"][..],
        &["model_state_dict"],
        &["model"],
        &["net"],
        &["module"],
        &["weights"],
        &["network"],
        &["params"],
        &["checkpoint", "model", "state_dict"],
        &["ema"],
    ] {
        let nest =
            |bytes: &[u8]| pickle(&keys.iter().rev().fold(body(bytes).to_vec(), |inner, key| keyed(key, &inner)));
        let folder = with_bin(&repickled(nest));
        assert_eq!(numbers(&run(folder.path(), &reference)), wanted, "{keys:?}");
    }
    let listed = with_bin(&repickled(|bytes| pickle(&[b"]", body(bytes), b"a"].concat())));
    assert_eq!(numbers(&run(listed.path(), &reference)), wanted, "in a list");
    // The same tensors under two keys are one model.
    let twice = |bytes: &[u8]| {
        let first = keyed("model", &[body(bytes), b"q\xfe"].concat());
        pickle(&[&first[..], b"X\x03\0\0\0emah\xfes"].concat())
    };
    assert_eq!(numbers(&run(with_bin(&repickled(twice)).path(), &reference)), wanted, "twice");
}

#[test]
fn a_checkpoint_of_a_training_loop_opens() {
    let reference = golden("tasks/sequence");
    let folder = with_bin(&std::fs::read(golden("weights/trainer/pytorch_model.bin")).unwrap());
    let found = run(folder.path(), &reference);
    assert_eq!(numbers(&found), numbers(&run(&reference, &reference)));
    assert!(found.model.report.unused.is_empty(), "{:?}", found.model.report.unused);
}

#[test]
fn a_pickled_module_is_refused_with_the_way_out() {
    for class in [
        "transformers.models.bert.modeling_bert\nBertForSequenceClassification",
        "__main__\nNet",
        "torch.nn.modules.linear\nLinear",
        "sentence_transformers.SentenceTransformer\nSentenceTransformer",
        "models.classifier\nMine",
    ] {
        let object = [b"c", class.as_bytes(), b"\n)\x81}b"].concat();
        for body in [object.clone(), keyed("model", &object)] {
            let folder = with_bin(&repickled(|_| pickle(&body)));
            let error = Model::open(folder.path()).unwrap_err().to_string();
            let name = class.replace('\n', ".");
            assert!(error.contains(&format!("a pickled module ({name})")), "{error}");
            assert!(error.contains("model.state_dict()") && !error.contains('\n'), "{error}");
        }
    }
}

#[derive(serde::Deserialize)]
struct Headless {
    base: String,
    missing: Vec<String>,
}

#[test]
fn a_model_without_its_head_says_what_is_missing_as_transformers_does() {
    let text = std::fs::read(golden("weights/headless.json")).unwrap();
    let all: BTreeMap<String, Headless> = serde_json::from_slice(&text).unwrap();
    assert!(all.len() > 20);
    for (name, Headless { base, missing }) in all {
        let reference = golden(&name);
        let whole = run(&reference, &reference);
        assert!(whole.model.report.missing.is_empty(), "{name}: {:?}", whole.model.report.missing);
        assert_eq!(whole.model.report.headless, None, "{name}");
        let kept = |tensor: &str| if tensor.starts_with(&base) { vec![tensor.to_owned()] } else { Vec::new() };
        let found = run(renamed(&reference, kept).path(), &reference);
        let report = &found.model.report;
        assert_eq!(found.model.tasks, [], "{name}");
        assert_eq!(report.headless, Some(whole.model.tasks[0].task), "{name}");
        assert!(!report.missing.is_empty(), "{name}");
        for lacking in &report.missing {
            assert!(missing.contains(lacking), "{name}: {lacking} is not among {missing:?}");
        }
        assert_eq!(found.hidden, whole.hidden, "{name}: the encoder is whole");
    }
}

#[test]
fn a_classifier_without_the_pooler_that_it_reads_still_shows_its_maps() {
    let reference = golden("tasks/sequence");
    let kept = |name: &str| if name.contains("pooler") { Vec::new() } else { vec![name.to_owned()] };
    let found = run(renamed(&reference, kept).path(), &reference);
    let report = &found.model.report;
    assert_eq!(report.missing, ["bert.pooler.dense.bias", "bert.pooler.dense.weight"]);
    assert_eq!(report.headless, Some(Task::SequenceClassification));
    assert_eq!(report.unused, ["classifier.bias", "classifier.weight"]);
}

#[test]
fn the_command_line_tells_what_is_missing_unused_and_taken_off() {
    let folder = renamed(&golden("tasks/sequence"), |name| match name {
        "classifier.weight" => vec!["module.own.weight".into()],
        "classifier.bias" => Vec::new(),
        name => vec![format!("module.{name}")],
    });
    let place = folder.path().to_str().unwrap();
    let (text, _) = program::success(&["models", "show", place]);
    for line in [
        "task\tnone: the checkpoint lacks its head for sequence classification (classifier.bias, classifier.weight)",
        "missing\tclassifier.weight",
        "unused\town.weight",
        "taken off names\tmodule.",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    let out = folder.path().join("run.safetensors");
    let (_, notes) =
        program::success(&["run", "--model", place, "--text", "the cat sat", "--out", out.to_str().unwrap()]);
    assert!(notes.contains("lacks its head for sequence classification"), "{notes}");
}

/// Bytes of a file that is something else, and what is to be said of it.
fn strangers() -> Vec<(Vec<u8>, &'static str)> {
    let padded = |start: &[u8]| [start, &[7; 600]].concat();
    let mut tar = vec![b'a'; 600];
    tar[257..262].copy_from_slice(b"ustar");
    vec![
        (Vec::new(), "it is empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n".to_vec(), "run `git lfs pull`"),
        (b"../.git/annex/objects/x".to_vec(), "git-annex"),
        (padded(b"<!DOCTYPE html><html>"), "a web page (HTML)"),
        (b"\n  <html lang=en>".to_vec(), "a web page (HTML)"),
        (b"<?xml version='1.0'?><Error/>".to_vec(), "an XML message"),
        (b"Entry not found".to_vec(), "a server's refusal"),
        (vec![0; 5000], "begins with zeros alone"),
        (padded(b"\x1f\x8b\x08"), "gzip"),
        (padded(b"\x28\xb5\x2f\xfd"), "zstd"),
        (padded(b"\xfd7zXZ\0"), "xz"),
        (tar, "a tar archive"),
        (padded(b"GGUF\x03\0\0\0"), "GGUF"),
        (padded(b"\x89HDF\r\n\x1a\n"), "HDF5"),
        (padded(b"\x08\x08\x12\x07pytorch"), "an ONNX model"),
        (padded(b"\x08\x01\x12\x40\x0a\x05serve saved_model"), "a model of TensorFlow"),
        (padded(b"\x83\xa4bert\x82"), "Flax"),
        (padded(b"\x93NUMPY\x01"), "NumPy"),
        (b"\xff\xfe{\0}\0".to_vec(), "UTF-16"),
    ]
}

#[test]
fn a_file_that_is_something_else_is_told_as_what_it_is() {
    let torch = std::fs::read(golden("files/zip/pytorch_model.bin")).unwrap();
    let legacy = std::fs::read(golden("files/legacy/pytorch_model.bin")).unwrap();
    let tensors = std::fs::read(golden("tasks/sequence/model.safetensors")).unwrap();
    let more = |file: &str| match file {
        "model.safetensors" => vec![(torch.clone(), "torch.save"), (legacy.clone(), "a pickle")],
        "pytorch_model.bin" => vec![(tensors.clone(), "a safetensors file")],
        _ => vec![(torch.clone(), "a zip archive"), (tensors.clone(), "a safetensors file")],
    };
    for file in [
        "model.safetensors",
        "pytorch_model.bin",
        "config.json",
        "vocab.txt",
        "tokenizer_config.json",
        "tokenizer.json",
    ] {
        for (bytes, wanted) in strangers().into_iter().chain(more(file)) {
            // Settings in UTF-16 are read as what they are.
            if wanted == "UTF-16" && file.ends_with("config.json") {
                continue;
            }
            let folder = if file.ends_with(".bin") {
                with_bin(&bytes)
            } else {
                let folder = renamed(&golden("tasks/sequence"), |name| vec![name.to_owned()]);
                std::fs::write(folder.path().join(file), &bytes).unwrap();
                folder
            };
            let error = Model::open(folder.path()).map(drop).expect_err(&format!("{file} is {wanted}")).to_string();
            assert!(error.contains(wanted) && error.contains(file), "{file} should be {wanted}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }
}

#[test]
fn a_file_cut_short_is_told_as_that() {
    for (name, file) in
        [("tasks/sequence", "model.safetensors"), ("tasks/sequence", "config.json"), ("files/zip", "pytorch_model.bin")]
    {
        let folder = tempfile::tempdir().unwrap();
        for entry in std::fs::read_dir(golden(name)).unwrap().flatten() {
            std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
        }
        let bytes = std::fs::read(folder.path().join(file)).unwrap();
        std::fs::write(folder.path().join(file), &bytes[..bytes.len() * 3 / 4]).unwrap();
        let error = Model::open(folder.path()).unwrap_err().to_string();
        assert!(error.contains("cut short"), "{file}: {error}");
    }
}

#[test]
fn a_folder_of_other_weights_says_what_is_there() {
    for (file, wanted) in [
        ("tf_model.h5", "TensorFlow"),
        ("flax_model.msgpack", "Flax"),
        ("model.onnx", "ONNX"),
        ("model-q4.gguf", "llama.cpp"),
        ("adapter_model.safetensors", "an adapter"),
        ("best.pt", "opened by its own path"),
    ] {
        let folder = renamed(&golden("tasks/sequence"), |name| vec![name.to_owned()]);
        std::fs::rename(folder.path().join("model.safetensors"), folder.path().join(file)).unwrap();
        std::fs::remove_file(folder.path().join("reference.safetensors")).unwrap();
        let error = Model::open(folder.path()).unwrap_err().to_string();
        assert!(error.contains("no weights") && error.contains(file) && error.contains(wanted), "{file}: {error}");
    }
}
