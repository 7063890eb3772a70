//! Text to tokens, of any script, with the stretch of text that each token came from.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

mod support;

use std::sync::Arc;

use headlight::run::{Input, Limit, Role, Segment, Texts};
use headlight::text::{TextEncoder, TextError, parse_ids};

fn tiny() -> TextEncoder {
    TextEncoder::from_folder(&support::tiny_model()).unwrap()
}

fn encode(encoder: &TextEncoder, texts: Texts) -> Input {
    encoder.encode(&Arc::new(texts), 512, Limit::Positions).unwrap()
}

fn pieces(input: &Input) -> Vec<&str> {
    input.tokens.iter().map(|token| token.piece.as_str()).collect()
}

#[test]
fn each_piece_keeps_the_text_it_came_from() {
    let encoder = tiny();
    let input = encode(&encoder, Texts::pair("The cats\tsat.", "walking 你好"));
    assert_eq!(
        pieces(&input),
        ["[CLS]", "the", "cat", "##s", "sat", ".", "[SEP]", "walk", "##ing", "你", "好", "[SEP]"]
    );
    let sources: Vec<_> = input.tokens.iter().map(|token| input.source_of(token)).collect();
    let some = |text| Some(text);
    assert_eq!(
        sources,
        [
            None,
            some("The"),
            some("cat"),
            some("s"),
            some("sat"),
            some("."),
            None,
            some("walk"),
            some("ing"),
            some("你"),
            some("好"),
            None
        ]
    );
    let words: Vec<_> = input.tokens.iter().map(|token| token.word).collect();
    let expected = [None, Some(0), Some(1), Some(1), Some(2), Some(3), None, Some(4), Some(4), Some(5), Some(6), None];
    assert_eq!(words, expected);
    let in_b: Vec<_> = input.tokens.iter().map(|token| token.segment == Segment::B).collect();
    assert_eq!(in_b.iter().position(|b| *b), Some(7));
    assert!(input.tokens.iter().all(|token| token.type_id == u32::from(token.segment == Segment::B)));
    let special: Vec<_> = input.tokens.iter().filter(|token| token.role == Role::Special).collect();
    assert_eq!(special.len(), 3);
}

#[test]
fn empty_text_is_the_two_markers() {
    let encoder = tiny();
    assert_eq!(pieces(&encode(&encoder, Texts::single(""))), ["[CLS]", "[SEP]"]);
    assert_eq!(pieces(&encode(&encoder, Texts::single(" \t\n"))), ["[CLS]", "[SEP]"]);
    assert_eq!(pieces(&encode(&encoder, Texts::pair("", ""))), ["[CLS]", "[SEP]", "[SEP]"]);
}

#[test]
fn a_marker_that_the_reader_types_is_a_marker_but_a_mask_stands_for_a_word() {
    let input = encode(&tiny(), Texts::single("the [SEP] [MASK]"));
    let roles: Vec<_> = input.tokens.iter().map(|token| token.role).collect();
    assert_eq!(roles, [Role::Special, Role::Word, Role::Special, Role::Word, Role::Special]);
    assert_eq!(input.source_of(&input.tokens[2]), Some("[SEP]"));
}

#[test]
fn a_text_that_is_too_long_is_cut_at_the_limit_and_says_so() {
    let encoder = tiny();
    let cut = |texts: Texts| encoder.encode(&Arc::new(texts), 20, Limit::Positions).unwrap();
    let single = cut(Texts::single("cat ".repeat(60)));
    assert_eq!((single.tokens.len(), single.full_length), (20, 62));
    assert_eq!(single.tokens.last().unwrap().piece, "[SEP]");
    assert_eq!(single.cut_notice().unwrap(), "20 of 62 tokens shown: the model has no more positions");
    // Of a pair, the longer half loses tokens first.
    let pair = cut(Texts::pair("cat ".repeat(60), "dog sat"));
    assert_eq!((pair.tokens.len(), pair.full_length), (20, 65));
    assert_eq!(pieces(&pair)[17..], ["dog", "sat", "[SEP]"]);
    // One that just fits is whole.
    let whole = cut(Texts::single("cat ".repeat(18)));
    assert_eq!((whole.tokens.len(), whole.limit), (20, None));
}

#[test]
fn any_unicode_gives_tokens_whose_spans_lie_in_the_text() {
    let Some(folder) = support::default_model() else { return };
    let encoders = [tiny(), TextEncoder::from_folder(&folder).unwrap()];
    let alphabet: Vec<char> =
        "aZé ß\u{301}\u{0}\t\n中文שלוםعربي👩\u{200d}👧\u{fe0f}ก์ｱ𝔘\u{ffff}\u{202e}[]#'.".chars().collect();
    for seed in 0..300 {
        let mut random = support::seeded(seed);
        let mut text =
            || -> String { (0..random.usize(0..40)).map(|_| alphabet[random.usize(0..alphabet.len())]).collect() };
        let texts = if seed % 2 == 0 { Texts::single(text()) } else { Texts::pair(text(), text()) };
        for encoder in &encoders {
            let input = encode(encoder, texts.clone());
            for token in &input.tokens {
                if token.span.is_some() {
                    assert!(input.source_of(token).is_some(), "seed {seed}: {token:?} of {texts:?}");
                }
            }
            let words: Vec<_> = input.tokens.iter().filter_map(|token| token.word).collect();
            assert!(words.is_sorted(), "seed {seed}: {words:?}");
        }
    }
}

#[test]
fn truncation_and_padding_stored_with_a_tokenizer_are_switched_off() {
    let Some(folder) = support::default_model() else { return };
    // Its tokenizer.json pads and truncates to 128.
    let encoder = TextEncoder::from_folder(&folder).unwrap();
    assert_eq!(encode(&encoder, Texts::single("one")).tokens.len(), 3);
    assert_eq!(encode(&encoder, Texts::single("one ".repeat(300))).tokens.len(), 302);
}

#[test]
fn numbers_need_no_tokenizer() {
    let input = parse_ids("101 7592,102", 30522, 512, None).unwrap();
    assert_eq!(pieces(&input), ["101", "7592", "102"]);
    let named = parse_ids("2 36 3", 49, 512, Some(&tiny())).unwrap();
    assert_eq!(pieces(&named), ["[CLS]", "##s", "[SEP]"]);
    assert_eq!(named.tokens[0].role, Role::Special);
    let cut = parse_ids(&"5 ".repeat(60), 49, 48, None).unwrap();
    assert_eq!((cut.tokens.len(), cut.full_length), (48, 60));
    assert!(matches!(parse_ids("101 x", 30522, 512, None), Err(TextError::BadIds(_))));
    assert!(matches!(parse_ids("-1", 30522, 512, None), Err(TextError::BadIds(_))));
    assert!(matches!(parse_ids(" ", 30522, 512, None), Err(TextError::NoIds)));
    let error = parse_ids("49", 49, 512, None).unwrap_err().to_string();
    assert_eq!(error, "token number 49 is outside the vocabulary, which has 0 to 48");
}

#[test]
fn a_folder_without_a_usable_tokenizer_says_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let open = || TextEncoder::from_folder(folder.path()).unwrap_err().to_string();
    assert!(open().contains("neither tokenizer.json, nor vocab.json"));
    std::fs::write(folder.path().join("vocab.txt"), "[CLS]\n[SEP]\na\n").unwrap();
    assert!(open().contains("[UNK] is missing"));
    std::fs::write(folder.path().join("tokenizer.json"), "not JSON").unwrap();
    assert!(open().contains("tokenizer.json is not a tokenizer"));
}

fn text_model(name: &str) -> std::path::PathBuf {
    support::clone_root().join("tests/golden/text").join(name)
}

/// What another program made of some texts.
#[derive(serde::Deserialize)]
struct Reference {
    a: String,
    #[serde(default)]
    b: Option<String>,
    ids: Vec<u32>,
    pieces: Vec<String>,
}

fn references(name: &str) -> Vec<Reference> {
    serde_json::from_slice(&std::fs::read(text_model(name).join("reference.json")).unwrap()).unwrap()
}

#[test]
fn byte_level_bpe_from_older_files_is_that_of_transformers() {
    let encoder = TextEncoder::from_folder(&text_model("byte-level")).unwrap();
    for Reference { a, b, ids, pieces: wanted } in references("byte-level") {
        let input = encode(&encoder, Texts { a: a.clone(), b });
        assert_eq!(pieces(&input), wanted, "{a:?}");
        assert_eq!(input.tokens.iter().map(|token| token.id).collect::<Vec<_>>(), ids, "{a:?}");
    }
    let input = encode(&encoder, Texts::single("the cat 你好 👧"));
    let labels: Vec<&str> = input.tokens.iter().map(|token| token.label()).collect();
    assert_eq!(&labels[..3], ["<s>", "the", "cat"]);
    assert!(labels.contains(&"你好") && labels.contains(&"‹F0›"), "{labels:?}");
    assert_eq!(encoder.mask(), Some((4, "<mask>".into())));
    // The mask takes the blank before it, as in RoBERTa's own tokenizer.
    let masked = encode(&encoder, Texts::single("the <mask> sat"));
    assert_eq!(pieces(&masked), ["<s>", "the", "<mask>", "Ġsat", "</s>"]);
    assert_eq!(masked.tokens[0].role, Role::Special);
}

#[test]
fn sentence_piece_models_give_the_pieces_of_sentence_piece() {
    for (name, first, last) in [("xlm-roberta", "<s>", "</s>"), ("deberta-v2", "[CLS]", "[SEP]")] {
        let encoder = TextEncoder::from_folder(&text_model(name)).unwrap();
        for Reference { a, ids, pieces: wanted, .. } in references(name) {
            let input = encode(&encoder, Texts::single(a.as_str()));
            let own = &input.tokens[1..input.tokens.len() - 1];
            assert_eq!((pieces(&input)[0], *pieces(&input).last().unwrap()), (first, last));
            // A stretch without known pieces keeps its text in SentencePiece, and is the unknown piece here.
            let same = own.iter().zip(&wanted).all(|(token, wanted)| token.unknown.is_some() || token.piece == *wanted);
            assert!(same && own.len() == wanted.len(), "{name} {a:?}: {:?} {wanted:?}", pieces(&input));
            let shift = if name == "xlm-roberta" { 1 } else { 0 };
            for (token, id) in own.iter().zip(ids).filter(|(token, _)| token.unknown.is_none()) {
                assert_eq!(token.id, id + shift, "{name} {a:?}");
            }
        }
        let input = encode(&encoder, Texts::single("the cat"));
        assert!(input.tokens.iter().all(|token| !token.label().contains('▁')), "{:?}", pieces(&input));
        let pair = encode(&encoder, Texts::pair("the cat", "a dog"));
        assert_eq!(pair.tokens.last().unwrap().segment, Segment::B);
    }
}

#[test]
fn albert_and_camembert_spell_from_their_sentence_piece_files() {
    for name in ["albert", "camembert"] {
        let encoder = TextEncoder::from_folder(&text_model(name)).unwrap();
        for Reference { a, b, ids, pieces: wanted } in references(name) {
            let input = encode(&encoder, Texts { a: a.clone(), b });
            assert_eq!(pieces(&input), wanted, "{name} {a:?}");
            assert_eq!(input.tokens.iter().map(|token| token.id).collect::<Vec<_>>(), ids, "{name} {a:?}");
        }
    }
    // As in the published tokenizer.json, and in the first program: a comma after a number is a piece of its own.
    let albert = TextEncoder::from_folder(&text_model("albert")).unwrap();
    assert_eq!(pieces(&encode(&albert, Texts::single("1985,"))), ["[CLS]", "▁", "1", "9", "8", "5", ",", "[SEP]"]);
    assert_eq!(albert.mask(), Some((4, "[MASK]".into())));
}

#[test]
fn a_sentence_piece_file_of_another_family_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(text_model("deberta-v2").join("spm.model"), folder.path().join("spm.model")).unwrap();
    let refused = || TextEncoder::from_folder(folder.path()).unwrap_err().to_string();
    std::fs::write(folder.path().join("config.json"), r#"{"model_type": "mpnet"}"#).unwrap();
    assert!(refused().contains("the family mpnet") && refused().contains("tokenizer.json"), "{}", refused());
    std::fs::write(folder.path().join("spm.model"), "no model").unwrap();
    assert!(refused().contains("SentencePiece model"), "{}", refused());
}
