//! What a vocabulary does not know of a text: how many pieces, why, and where.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

mod support;

use std::sync::Arc;

use headlight::run::{Input, Limit, MaskPiece, Texts, Unknown, UnknownCause};
use headlight::text::{TextEncoder, parse_ids};

/// A BERT's tokenizer with these pieces behind the markers, and each of `letters` at the start of a word and within it.
fn word_piece(letters: &str, pieces: &[&str], settings: &str) -> TextEncoder {
    let folder = tempfile::tempdir().unwrap();
    let mut lines: Vec<String> = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"].map(str::to_owned).into();
    lines.extend(letters.chars().flat_map(|letter| [letter.to_string(), format!("##{letter}")]));
    lines.extend(pieces.iter().map(|piece| (*piece).to_owned()));
    std::fs::write(folder.path().join("vocab.txt"), lines.join("\n")).unwrap();
    std::fs::write(folder.path().join("tokenizer_config.json"), settings).unwrap();
    TextEncoder::from_folder(folder.path()).unwrap()
}

/// A tokenizer of another kind, from the `model` of a `tokenizer.json`.
fn whole(model: &str) -> TextEncoder {
    let folder = tempfile::tempdir().unwrap();
    let json = format!(
        r#"{{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
        "pre_tokenizer": {{"type": "WhitespaceSplit"}}, "post_processor": null, "decoder": null, "model": {model}}}"#
    );
    std::fs::write(folder.path().join("tokenizer.json"), json).unwrap();
    TextEncoder::from_folder(folder.path()).unwrap()
}

const SMALL: &str = "abcdefghijklmnopqrstuvwxyz";
const UNCASED: &str = r#"{"do_lower_case": true}"#;
const AS_TYPED: &str = r#"{"do_lower_case": false}"#;
const ACCENTS_STAY: &str = r#"{"do_lower_case": true, "strip_accents": false}"#;

fn encode(encoder: &TextEncoder, texts: Texts) -> Input {
    encoder.encode(&Arc::new(texts), 512, Limit::Positions).unwrap()
}

fn unknown(encoder: &TextEncoder, text: &str) -> Option<Unknown> {
    encode(encoder, Texts::single(text)).unknown()
}

/// The causes of a text, each with how many pieces it made unknown.
fn causes(encoder: &TextEncoder, text: &str) -> Vec<(UnknownCause, usize)> {
    unknown(encoder, text)
        .map(|found| found.causes.into_iter().map(|by| (by.cause, by.count)).collect())
        .unwrap_or_default()
}

fn all_have(encoder: &TextEncoder, cause: &UnknownCause, texts: &[&str]) {
    for text in texts {
        let found = causes(encoder, text);
        assert!(matches!(&found[..], [(only, _)] if only == cause), "{text}: {found:?}, not {cause:?}");
        assert!(!unknown(encoder, text).unwrap().wants_another_model(), "{text}");
    }
}

#[test]
fn a_text_that_is_known_has_nothing_to_tell() {
    let encoder = word_piece(SMALL, &["."], UNCASED);
    for text in ["", " \t", "the cat.", "CAFÉ Naïve", "[MASK] [SEP]"] {
        assert_eq!(unknown(&encoder, text), None, "{text}");
    }
}

#[test]
fn a_script_that_the_vocabulary_lacks() {
    let encoder = word_piece(SMALL, &["."], UNCASED);
    for (script, text) in [
        ("Han", "中文"),
        ("Han", "𠮷"),
        ("Arabic", "مرحبا"),
        ("Arabic", "١٢٣"),
        ("Hebrew", "שלום"),
        ("Hangul", "한국어"),
        ("Thai", "สวัสดี"),
        ("Cyrillic", "Привет"),
        ("Greek", "Ελλάδα"),
        ("Devanagari", "नमस्ते"),
        ("Hiragana", "ひらがな"),
        ("Katakana", "ガード"),
        ("Katakana", "ｱｲ"),
        ("Tamil", "வணக்கம்"),
        ("Canadian Aboriginal", "ᐃᓄᒃ"),
    ] {
        let cause = UnknownCause::Script { name: script.into(), letters: 0 };
        let found = unknown(&encoder, text).unwrap();
        assert!(found.causes.iter().all(|by| by.cause == cause) && found.wants_another_model(), "{text}: {found:?}");
        let notice = found.notice();
        assert!(notice.contains(&format!("the vocabulary has no letter of the {script} script")), "{notice}");
        assert!(notice.ends_with("; open a model trained on that language, such as a multilingual one"), "{notice}");
    }
}

#[test]
fn a_script_of_which_it_has_hardly_a_letter() {
    let encoder = word_piece(SMALL, &["你", "好", "א"], AS_TYPED);
    let script = |name: &str, letters| UnknownCause::Script { name: name.into(), letters };
    assert_eq!(causes(&encoder, "你好"), []);
    assert_eq!(causes(&encoder, "你们"), [(script("Han", 2), 1)]);
    assert_eq!(causes(&encoder, "שלום"), [(script("Hebrew", 1), 1)]);
    let notice = unknown(&encoder, "שלום").unwrap().notice();
    assert!(notice.contains("has only 1 letter of the Hebrew script"), "{notice}");
    // There can be more of its letters than of the vocabulary's main one.
    let english = word_piece("ab", &["aa", "ab", "ba", "bb", "中", "文", "字"], AS_TYPED);
    assert_eq!(causes(&english, "书"), [(script("Han", 3), 1)]);
    // A letter too rare for a vocabulary of that script is no reason to change the model.
    let hebrew = word_piece("אבגדהוזחטיכלמנסעפצקרש", &[], AS_TYPED);
    assert_eq!(causes(&hebrew, "שלום"), [(UnknownCause::Letters, 1)]);
}

#[test]
fn an_emoji_or_a_symbol() {
    let encoder = word_piece(SMALL, &["."], UNCASED);
    let texts = [
        "😀",
        "👩\u{200d}👧",
        "❤\u{fe0f}",
        "🇨🇳",
        "👍🏽",
        "1\u{fe0f}\u{20e3}",
        "hello😀",
        "∑",
        "x∀y",
        "½",
        "€",
        "‽",
        "𝔘",
        "→",
        "☃",
        "café😀",
        "🏴\u{e0067}\u{e0062}\u{e007f}",
    ];
    all_have(&encoder, &UnknownCause::Symbol, &texts);
    let typed = word_piece(SMALL, &["."], AS_TYPED);
    all_have(&typed, &UnknownCause::Symbol, &["😀", "👩\u{200d}👧", "a∑", "❤\u{fe0f}"]);
    // However many stand together.
    all_have(&encoder, &UnknownCause::Symbol, &[&"😀".repeat(101)]);
}

#[test]
fn a_word_of_more_letters_than_the_tokenizer_looks_at() {
    let encoder = word_piece(SMALL, &["."], UNCASED);
    for letter in ["a", "É", "e\u{301}"] {
        assert_eq!(causes(&encoder, &letter.repeat(100)), [], "{letter}");
        assert_eq!(causes(&encoder, &letter.repeat(101)), [(UnknownCause::TooLong { most: 100 }, 1)], "{letter}");
    }
    let notice = unknown(&encoder, &format!("see {}", "ab".repeat(60))).unwrap().notice();
    let wanted = "1 because a word has more than 100 letters (token 4 “abababababababab…”)";
    assert!(notice.ends_with(wanted), "{notice}");
    // The script is the deeper cause: the word would be unknown at any length.
    let script = UnknownCause::Script { name: "Thai".into(), letters: 0 };
    assert_eq!(causes(&encoder, &"ก".repeat(101)), [(script, 1)]);
    // Another tokenizer has another limit.
    let five = whole(
        r###"{"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 5, "vocab": {"[UNK]": 0, "a": 1, "##a": 2}}"###,
    );
    assert_eq!(causes(&five, "aaaaa"), []);
    assert_eq!(causes(&five, "aaaaaa aaaaa"), [(UnknownCause::TooLong { most: 5 }, 1)]);
}

#[test]
fn letters_of_the_other_case() {
    let small = word_piece(SMALL, &["đ", "##đ"], AS_TYPED);
    all_have(&small, &UnknownCause::Capitals, &["CAT", "Cat", "iPhone", "ÉCOLE", "ĐẶNG", "Đ"]);
    let large = word_piece(&SMALL.to_uppercase(), &[], AS_TYPED);
    all_have(&large, &UnknownCause::SmallLetters, &["cat", "Cat", "x"]);
    assert_eq!(causes(&large, "CAT"), []);
}

#[test]
fn accents_and_marks() {
    let encoder = word_piece(SMALL, &["."], ACCENTS_STAY);
    all_have(&encoder, &UnknownCause::Accents, &["café", "e\u{301}", "Naïve", "Żaba", "ặ", "x\u{336}y"]);
}

#[test]
fn other_letters_and_digits() {
    let encoder = word_piece(SMALL, &["."], UNCASED);
    all_have(&encoder, &UnknownCause::Letters, &["đ", "ĐẶNG", "Łódź", "søn", "straße", "þ", "5", "b2b"]);
}

#[test]
fn a_word_that_no_pieces_make_up() {
    let encoder = TextEncoder::from_folder(&support::tiny_model()).unwrap();
    all_have(&encoder, &UnknownCause::Word, &["hello", "Walker", "dogma"]);
}

#[test]
fn the_unknown_piece_itself() {
    let encoder = word_piece(SMALL, &[], UNCASED);
    all_have(&encoder, &UnknownCause::Written, &["[UNK]", "the [UNK] cat"]);
    let input = parse_ids("5 1 6", 512, 100, Some(&encoder)).unwrap();
    assert_eq!(
        input.unknown().unwrap().notice(),
        "1 of 3 pieces is [UNK]: 1 because they were written so (token 1 “[UNK]”)"
    );
}

#[test]
fn tokenizers_of_other_kinds_tell_their_causes() {
    let unigram =
        whole(r#"{"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0], ["b", -1.0], ["c", -1.0]]}"#);
    let pairs =
        whole(r#"{"type": "BPE", "unk_token": "<unk>", "vocab": {"<unk>": 0, "a": 1, "b": 2, "c": 3}, "merges": []}"#);
    let script = |name: &str| UnknownCause::Script { name: name.into(), letters: 0 };
    for encoder in [unigram, pairs] {
        let of = |text: &str| causes(&encoder, text).into_iter().map(|(cause, _)| cause).collect::<Vec<_>>();
        assert_eq!(of("abc"), []);
        assert_eq!(of("a中"), [script("Han")]);
        assert_eq!(of("a😀"), [UnknownCause::Symbol]);
        assert_eq!(of("aB"), [UnknownCause::Capitals]);
        assert_eq!(of("aç"), [UnknownCause::Accents]);
        assert_eq!(of("ax"), [UnknownCause::Letters]);
        assert_eq!(of(&"a".repeat(300)), []);
        assert!(unknown(&encoder, "a中").unwrap().notice().contains("pieces is <unk>: 1 because"));
    }
    let words = whole(r#"{"type": "WordLevel", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "the": 1, "cat": 2}}"#);
    assert_eq!(causes(&words, "the hat"), [(UnknownCause::Word, 1)]);
    assert_eq!(causes(&words, "The fée"), [(UnknownCause::Capitals, 1), (UnknownCause::Letters, 1)]);
}

#[test]
fn several_causes_are_told_together_the_most_frequent_first_with_their_places() {
    let encoder = word_piece(SMALL, &["."], UNCASED);
    let notice = encode(&encoder, Texts::pair("a 😀 b 中文字 5.", "c 书 ∑")).unknown().unwrap().notice();
    assert_eq!(
        notice,
        "7 of 11 pieces are [UNK]: 4 because the vocabulary has no letter of the Han script (token 4 “中”, token 5 “文”, \
         token 6 “字” and 1 more); 2 because the vocabulary lacks an emoji or symbol (token 2 “😀”, token 12 “∑”); \
         1 because the vocabulary lacks letters or digits (token 7 “5”); open a model trained on that language, such as \
         a multilingual one"
    );
    // A long word loses no half of an emoji, and nothing in it turns the sentence round.
    let family = "👩\u{200d}👩\u{200d}👧\u{200d}👦";
    let notice = unknown(&encoder, &family.repeat(20)).unwrap().notice();
    assert!(notice.contains(&format!("“{}…”", family.repeat(16))), "{notice}");
    let notice = unknown(&encoder, "a\u{202e}∑").unwrap().notice();
    assert!(notice.contains("“a∑”"), "{notice}");
}

#[test]
fn a_masked_token_is_not_unknown_any_more() {
    let encoder = word_piece(SMALL, &["."], UNCASED);
    let mut input = encode(&encoder, Texts::single("a 😀"));
    input.mask(2, &MaskPiece { id: 4, piece: "[MASK]".into() }).unwrap();
    assert_eq!(input.unknown(), None);
}

#[test]
fn any_stretch_of_unicode_has_a_cause() {
    let alphabet: Vec<char> =
        "aZé ß\u{301}\u{0}\t\n中שع👩\u{200d}👧\u{fe0f}ก์ｱ𝔘\u{ffff}\u{202e}[]#'.Đ5½Ωー\u{e000}\u{378}".chars().collect();
    let encoders = [UNCASED, AS_TYPED, ACCENTS_STAY].map(|settings| word_piece("abcxyz", &["."], settings));
    for seed in 0..300 {
        let mut random = support::seeded(seed);
        let text: String = (0..random.usize(0..40)).map(|_| alphabet[random.usize(0..alphabet.len())]).collect();
        for encoder in &encoders {
            let input = encode(encoder, Texts::single(&text));
            let count = input.tokens.iter().filter(|token| token.piece == "[UNK]").count();
            let found = input.unknown();
            assert_eq!(found.as_ref().map_or(0, |found| found.count), count, "seed {seed}: {text:?}");
            let Some(found) = found else { continue };
            assert_eq!(found.causes.iter().map(|by| by.count).sum::<usize>(), count, "seed {seed}: {text:?}");
            assert!(found.causes.is_sorted_by(|a, b| a.count >= b.count), "seed {seed}: {found:?}");
            assert_eq!(found.notice().lines().count(), 1, "seed {seed}: {:?}", found.notice());
        }
    }
}
