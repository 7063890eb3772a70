//! Why a stretch of text became the unknown piece.
//!
//! What a vocabulary lacks is found from the letters of its pieces; where it has all of them or could have, the word is
//! tried again in small letters, without accents and without symbols: what makes it known was the cause.

use std::collections::{HashMap, HashSet};

use tokenizers::models::ModelWrapper;
use tokenizers::{Model, NormalizedString, Normalizer, Tokenizer};
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};
use unicode_script::{Script, UnicodeScript};

use crate::run::UnknownCause;

/// What the pieces of a vocabulary are written with.
#[derive(Debug)]
pub(super) struct Letters {
    all: HashSet<char>,
    /// How many letters it has of each script.
    by_script: HashMap<Script, usize>,
    /// The script of most of its pieces: there can be more letters of another, such as Han.
    main: Option<Script>,
}

impl Letters {
    pub(super) fn of(tokenizer: &Tokenizer) -> Self {
        let added = tokenizer.get_added_tokens_decoder();
        let pieces = tokenizer.get_vocab(false);
        let marker = |piece: &str| piece.len() > 2 && piece.starts_with('[') && piece.ends_with(']');
        let plain = pieces.into_iter().filter(|(piece, id)| !added.contains_key(id) && !marker(piece));
        let mut all = HashSet::new();
        let mut pieces_by_script: HashMap<Script, usize> = HashMap::new();
        for (piece, _) in plain {
            all.extend(piece.chars());
            if let Some(letter) = piece.chars().find(|letter| letter.is_alphabetic()) {
                *pieces_by_script.entry(letter.script()).or_default() += 1;
            }
        }
        let main = pieces_by_script.into_iter().max_by_key(|(_, pieces)| *pieces).map(|(script, _)| script);
        let mut by_script = HashMap::new();
        for letter in all.iter().filter(|letter| letter.is_alphabetic()) {
            *by_script.entry(letter.script()).or_insert(0) += 1;
        }
        Self { all, by_script, main }
    }

    /// The script of a letter, if the vocabulary has hardly a letter of it, and how many it has.
    fn lacking(&self, letter: char) -> Option<(Script, usize)> {
        let mut scripts = scripts(letter);
        let count = |script: &Script| self.by_script.get(script).copied().unwrap_or(0);
        let script = scripts.next()?;
        // A sign that several scripts share is lacking only with all of them.
        let most = scripts.chain([script]).map(|script| count(&script)).max().unwrap_or(0);
        let enough = match script {
            Script::Han => 1000,
            Script::Hangul if ('\u{ac00}'..='\u{d7a3}').contains(&letter) => 500,
            _ => 20,
        };
        (most == 0 || (most < enough && self.main != Some(script))).then_some((script, most))
    }
}

/// The scripts that a letter, a mark or a digit belongs to; none for what all scripts share.
fn scripts(letter: char) -> impl Iterator<Item = Script> {
    let own = letter.script();
    let shared = matches!(own, Script::Common | Script::Inherited | Script::Unknown);
    let extended = letter.script_extension();
    let writes = !matches!(
        letter.general_category_group(),
        GeneralCategoryGroup::Symbol | GeneralCategoryGroup::Punctuation | GeneralCategoryGroup::Other
    );
    let several =
        extended.iter().filter(move |_| shared && writes && !extended.is_common() && !extended.is_inherited());
    (!shared && writes).then_some(own).into_iter().chain(several)
}

/// An emoji, a part of one, or another sign that is no letter and no plain digit.
fn is_symbol(c: char) -> bool {
    let letter_of_no_script = || c.script() == Script::Common && scripts(c).next().is_none();
    match c.general_category_group() {
        GeneralCategoryGroup::Symbol | GeneralCategoryGroup::Punctuation | GeneralCategoryGroup::Other => true,
        GeneralCategoryGroup::Number => c.general_category() != GeneralCategory::DecimalNumber,
        GeneralCategoryGroup::Letter => letter_of_no_script(),
        // What makes an emoji of a sign, and the frame of a key.
        GeneralCategoryGroup::Mark => matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{20dd}'..='\u{20e4}'),
        GeneralCategoryGroup::Separator => false,
    }
}

fn is_mark(c: char) -> bool {
    c.general_category_group() == GeneralCategoryGroup::Mark
}

/// Why `source` became the tokenizer's unknown piece.
pub(super) fn cause(tokenizer: &Tokenizer, letters: &Letters, unknown: u32, source: &str) -> UnknownCause {
    let source = source.trim();
    if source.is_empty() || tokenizer.id_to_token(unknown).as_deref() == Some(source) {
        return UnknownCause::Written;
    }
    let word = normal(tokenizer, source);
    let missing: Vec<char> = word.chars().filter(|c| !letters.all.contains(c)).collect();
    if let Some((script, letters)) = missing.iter().find_map(|letter| letters.lacking(*letter)) {
        return UnknownCause::Script { name: script.full_name().replace('_', " "), letters };
    }
    let signs_alone = !missing.is_empty() && word.chars().all(is_symbol);
    if let ModelWrapper::WordPiece(model) = tokenizer.get_model()
        && word.chars().count() > model.max_input_chars_per_word
        && !signs_alone
    {
        return UnknownCause::TooLong { most: model.max_input_chars_per_word };
    }

    let known = |word: &str| {
        let pieces = tokenizer.get_model().tokenize(word);
        word.is_empty() || pieces.is_ok_and(|pieces| pieces.iter().all(|piece| piece.id != unknown))
    };
    let bare: String = word.chars().filter(|c| !is_symbol(*c) || letters.all.contains(c)).collect();
    let (small, large) = (word.to_lowercase(), word.to_uppercase());
    let plain = without_marks(&word);
    let changes = [
        (UnknownCause::Symbol, bare.clone()),
        (UnknownCause::Capitals, small),
        (UnknownCause::SmallLetters, large),
        (UnknownCause::Accents, plain),
    ];
    if let Some((cause, _)) = changes.iter().find(|(_, changed)| *changed != word && known(changed)) {
        return cause.clone();
    }
    // Several at once: the first of them is told.
    if bare != word {
        return UnknownCause::Symbol;
    }
    let Some(&letter) = missing.first() else {
        let together = without_marks(&word.to_lowercase());
        return match &changes[1].1 {
            small if *small != word && known(&together) => UnknownCause::Capitals,
            _ => UnknownCause::Word,
        };
    };
    let has = |changed: String| !changed.is_empty() && changed.chars().all(|c| letters.all.contains(&c));
    let without = without_marks(&letter.to_string());
    if letter.is_uppercase() && has(without_marks(&letter.to_lowercase().to_string())) {
        UnknownCause::Capitals
    } else if letter.is_lowercase() && has(letter.to_uppercase().to_string()) {
        UnknownCause::SmallLetters
    } else if is_mark(letter) || (without != letter.to_string() && has(without)) {
        UnknownCause::Accents
    } else {
        UnknownCause::Letters
    }
}

/// A word as the vocabulary is asked for it.
fn normal(tokenizer: &Tokenizer, source: &str) -> String {
    let mut text = NormalizedString::from(source);
    let done = tokenizer.get_normalizer().is_none_or(|normalizer| normalizer.normalize(&mut text).is_ok());
    let text = if done { text.get() } else { source };
    // SentencePiece writes a blank as a low line of its own.
    text.chars().filter(|c| !c.is_whitespace() && *c != '\u{2581}').collect()
}

fn without_marks(word: &str) -> String {
    let mut text = NormalizedString::from(word);
    text.nfd().filter(|c| !is_mark(c)).nfc();
    text.get().to_owned()
}
