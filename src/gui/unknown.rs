//! What a vocabulary does not know of a text, in the language of the window; [`Unknown::notice`] says it in English.

use super::lang::{key, tr};
use crate::run::{Unknown, UnknownBy, UnknownCause};

/// The scripts that have names of their own in the window's languages.
const SCRIPTS: [&str; 22] = [
    key!("Arabic"),
    key!("Armenian"),
    key!("Bengali"),
    key!("Cyrillic"),
    key!("Devanagari"),
    key!("Ethiopic"),
    key!("Georgian"),
    key!("Greek"),
    key!("Gujarati"),
    key!("Han"),
    key!("Hangul"),
    key!("Hebrew"),
    key!("Hiragana"),
    key!("Katakana"),
    key!("Khmer"),
    key!("Lao"),
    key!("Latin"),
    key!("Mongolian"),
    key!("Myanmar"),
    key!("Tamil"),
    key!("Thai"),
    key!("Tibetan"),
];

/// How many, why and where.
pub fn unknown_notice(unknown: &Unknown) -> String {
    let Unknown { piece, count, all, causes } = unknown;
    let counted = if *count == 1 {
        tr!("1 of %{b} pieces is %{piece}", b = all, piece = piece)
    } else {
        tr!("%{a} of %{b} pieces are %{piece}", a = count, b = all, piece = piece)
    };
    let causes: Vec<String> = causes
        .iter()
        .map(|by| tr!("%{a} because %{b} (%{c})", a = by.count, b = because(&by.cause), c = places(by)))
        .collect();
    let mut notice = tr!("%{a}: %{b}", a = counted, b = causes.join(tr!("; ")));
    if unknown.wants_another_model() {
        notice.push_str(tr!("; open a model trained on that language, such as a multilingual one"));
    }
    notice
}

fn because(cause: &UnknownCause) -> String {
    let fixed = match cause {
        UnknownCause::Script { name, letters } => {
            let name = SCRIPTS.iter().find(|own| *own == name).map_or(name.as_str(), |own| tr!(own));
            return match letters {
                0 => tr!("the vocabulary has no letter of the %{name} script", name = name),
                1 => tr!("the vocabulary has only 1 letter of the %{name} script", name = name),
                n => tr!("the vocabulary has only %{n} letters of the %{name} script", n = n, name = name),
            };
        }
        UnknownCause::TooLong { most } => return tr!("a word has more than %{n} letters", n = most),
        UnknownCause::Written => tr!("they were written so"),
        UnknownCause::Symbol => tr!("the vocabulary lacks an emoji or symbol"),
        UnknownCause::Capitals => tr!("the vocabulary has no such capitals, only the small letters"),
        UnknownCause::SmallLetters => tr!("the vocabulary has no such small letters, only the capitals"),
        UnknownCause::Accents => tr!("the vocabulary lacks letters with such accents or marks"),
        UnknownCause::Letters => tr!("the vocabulary lacks letters or digits"),
        UnknownCause::Word => tr!("no pieces of the vocabulary make up the word"),
    };
    fixed.to_owned()
}

fn places(by: &UnknownBy) -> String {
    let named: Vec<String> =
        by.first.iter().map(|(token, word)| tr!("token %{n} “%{word}”", n = token, word = word)).collect();
    let named = named.join(tr!(", "));
    if by.more() == 0 { named } else { tr!("%{a} and %{b} more", a = named, b = by.more()) }
}
