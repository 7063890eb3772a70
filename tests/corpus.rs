//! The corpora of the fuzz targets (`fuzz/corpus`, written by `fuzz/corpus.py`): what is good opens, what is bad is refused
//! in a sentence, and files damaged at random, each time the same, bring nothing down.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

#[path = "../fuzz/feed.rs"]
mod feed;
mod support;

type Feed = fn(&[u8]) -> Result<(), String>;

/// The files of a corpus by name, so that a seed damages the same bytes everywhere.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = support::clone_root().join("fuzz/corpus").join(target);
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let name = |path: &std::path::Path| path.file_name().unwrap().to_string_lossy().into_owned();
    files.iter().map(|path| (name(path), std::fs::read(path).unwrap())).collect()
}

fn is_a_sentence(refusal: &str) -> bool {
    !refusal.is_empty() && !refusal.contains('\n') && refusal.len() < 600
}

fn check(target: &str, feed: Feed) {
    let files = corpus(target);
    assert!(files.len() >= 5, "{target}");
    let mut random = support::seeded(21);
    for (name, bytes) in &files {
        match feed(bytes) {
            Ok(()) => assert!(name.starts_with("opens-"), "{target}/{name} was not refused"),
            Err(refusal) => {
                assert!(name.starts_with("refused-"), "{target}/{name}: {refusal}");
                assert!(is_a_sentence(&refusal), "{target}/{name}: {refusal}");
            }
        }
        for _ in 0..100 {
            let damaged = damage(bytes, &files, &mut random);
            if let Err(refusal) = feed(&damaged) {
                assert!(is_a_sentence(&refusal), "{target}/{name} damaged: {refusal}");
            }
        }
    }
}

/// Bytes changed, cut out, repeated, or joined with the end of another file.
fn damage(bytes: &[u8], files: &[(String, Vec<u8>)], random: &mut fastrand::Rng) -> Vec<u8> {
    let mut damaged = bytes.to_vec();
    for _ in 0..random.usize(1..4) {
        let at = random.usize(0..=damaged.len());
        let end = (at + random.usize(0..16)).min(damaged.len());
        match random.u8(0..5) {
            0 => drop(damaged.drain(at..end)),
            1 => {
                let again = damaged[at..end].to_vec();
                damaged.splice(at..at, again);
            }
            2 => {
                let other = &files[random.usize(0..files.len())].1;
                damaged.truncate(at);
                damaged.extend(&other[at.min(other.len())..]);
            }
            3 => damaged.truncate(at),
            _ => damaged[at..end].iter_mut().for_each(|byte| *byte = random.u8(..)),
        }
    }
    damaged
}

#[test]
fn configs() {
    check("config", feed::config);
}

#[test]
fn safetensors() {
    check("safetensors", feed::safetensors);
}

#[test]
fn pickles() {
    check("pickle", feed::pickle);
}

#[test]
fn tokenizers() {
    check("tokenizer", feed::tokenizer);
}

#[test]
fn vocabularies() {
    check("vocabulary", feed::vocabulary);
}

#[test]
fn sentence_piece_models() {
    check("sentence_piece", feed::sentence_piece);
}

#[test]
fn sessions() {
    check("session", feed::session);
}
