//! The window's languages: every sentence stands in `locales/window.yml` in each of them, and the window speaks them.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

#[path = "support/stage.rs"]
mod stage;
mod support;

use std::collections::{BTreeMap, BTreeSet};

use egui::accesskit::Role;
use egui_kittest::kittest::Queryable;
use headlight::figure::axis;
use headlight::metrics::HeadMetric;
use headlight::run::{ColorScale, Segments, Texts};
use stage::{Kept, Stage};

/// The sentences of the file: under each, its forms by language.
fn file() -> BTreeMap<String, BTreeMap<String, String>> {
    let text = std::fs::read_to_string(support::clone_root().join("locales/window.yml")).unwrap();
    let mut found: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    let mut under = String::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.starts_with("_version")) {
        if let Some(form) = line.strip_prefix("  ") {
            let (language, form) = form.split_once(": ").expect(line);
            let form = serde_json::from_str(form).expect(line);
            assert!(found.get_mut(&under).unwrap().insert(language.to_owned(), form).is_none(), "twice: {line}");
        } else {
            under = serde_json::from_str(line.strip_suffix(':').expect(line)).expect(line);
            assert!(found.insert(under.clone(), BTreeMap::new()).is_none(), "twice: {under}");
        }
    }
    found
}

/// What the window's source marks as a sentence.
fn sentences() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(support::clone_root().join("src/gui")).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("lang.rs") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for mark in ["tr!(", "key!("] {
            for rest in text.split(mark).skip(1) {
                if let Some(literal) = rest.trim_start().strip_prefix('"') {
                    found.insert(unescaped(literal));
                }
            }
        }
    }
    let metrics = HeadMetric::ALL.iter().flat_map(|metric| [metric.name(), metric.describe()]);
    let scales = ColorScale::ALL.iter().map(|scale| scale.name());
    let axes = [axis::QUERY, axis::KEY, axis::WEIGHT, Segments::All.name()];
    found.extend(metrics.chain(scales).chain(axes).map(str::to_owned));
    found
}

/// The text of a Rust literal, from behind its first quotation mark.
fn unescaped(literal: &str) -> String {
    let (mut text, mut letters) = (String::new(), literal.chars());
    while let Some(letter) = letters.next() {
        match letter {
            '"' => return text,
            '\\' => match letters.next().unwrap() {
                'n' => text.push('\n'),
                // The line goes on behind the blanks of the next one.
                '\n' => {
                    let rest = letters.as_str().trim_start();
                    letters = rest.chars();
                }
                other => text.push(other),
            },
            other => text.push(other),
        }
    }
    panic!("a literal without an end: {literal:.60}");
}

/// The gaps of a sentence, as in `%{n}`.
fn gaps(sentence: &str) -> BTreeSet<&str> {
    sentence.split("%{").skip(1).map(|rest| rest.split('}').next().unwrap()).collect()
}

#[test]
fn every_sentence_is_there_in_every_language_with_the_same_gaps() {
    let file = file();
    let missing: Vec<String> = sentences().into_iter().filter(|sentence| !file.contains_key(sentence)).collect();
    assert!(missing.is_empty(), "not in the file: {missing:#?}");
    for (sentence, forms) in &file {
        let languages: Vec<&str> = forms.keys().map(String::as_str).collect();
        assert_eq!(languages, ["en", "zh-CN"], "{sentence}");
        assert_eq!(&forms["en"], sentence, "the English form is the key");
        let chinese = &forms["zh-CN"];
        assert!(!chinese.trim().is_empty(), "{sentence}");
        assert_eq!(gaps(sentence), gaps(chinese), "{sentence} {chinese}");
    }
    assert!(file.len() > 400);
}

#[test]
fn the_file_has_no_sentence_that_nothing_says() {
    let said = sentences();
    let unsaid: Vec<String> = file().into_keys().filter(|sentence| !said.contains(sentence)).collect();
    assert!(unsaid.is_empty(), "{unsaid:#?}");
}

#[test]
fn the_window_speaks_chinese_and_keeps_to_it() {
    let mut kept = Kept::default();
    let mut stage = Stage::after(Some(&kept), Texts::single("the cat"));
    stage.play();
    stage.harness.get_by_role_and_label(Role::Button, "Language").click();
    stage.harness.run();
    stage.harness.get_by_label("简体中文").click();
    stage.harness.run();
    stage.harness.run();
    for (role, label) in
        [(Role::Button, "导出…"), (Role::Tab, "热图"), (Role::Button, "第 1 层，第 2 头"), (Role::ComboBox, "着色依据")]
    {
        assert!(stage.harness.query_by_role_and_label(role, label).is_some(), "{label}");
    }
    assert!(stage.shows("第 0 层，第 0 头的注意力，4 × 4 词元") && stage.shows("4 个词元"));
    eframe::App::save(stage.harness.state_mut(), &mut kept);
    rust_i18n::set_locale("en");
    let mut next = Stage::after(Some(&kept), Texts::single("the cat"));
    next.play();
    assert!(next.harness.query_by_role_and_label(Role::TextInput, "句子").is_some());
}

#[test]
fn why_pieces_are_unknown_is_told_in_chinese() {
    let kept = Kept([("language".to_owned(), "Chinese".to_owned())].into());
    let mut stage = Stage::after(Some(&kept), Texts::single("[UNK] 😀 the"));
    stage.play();
    assert!(stage.shows(
        "⚠ 3 个词片中有 2 个是 [UNK]：1 个是因为词表中没有汉字的任何字符（词元 1“[UNK]”）；1 个是因为词表中没有其中的表情或符号（词元 2“😀”）；请打开用该语言训练的模型，例如多语言模型"
    ));
}
