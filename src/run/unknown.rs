use serde::{Deserialize, Serialize};
use unicode_segmentation::UnicodeSegmentation;

use super::{Input, Role};

/// Why a vocabulary has no piece for a stretch of text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum UnknownCause {
    /// The unknown piece itself stands in the text, or its number among numbers.
    Written,
    /// It is of a script of which the vocabulary has hardly a letter, or none.
    Script {
        /// Its name in Unicode, such as `Han`.
        name: String,
        /// How many letters of it the vocabulary has.
        letters: usize,
    },
    /// An emoji, a symbol or a sign that the vocabulary lacks.
    Symbol,
    /// More letters than the tokenizer looks at in one word.
    TooLong { most: usize },
    /// Capitals that the vocabulary has as small letters only.
    Capitals,
    /// Small letters that the vocabulary has as capitals only.
    SmallLetters,
    /// Letters that the vocabulary has, but not with their accents or marks.
    Accents,
    /// Other letters or digits that the vocabulary lacks.
    Letters,
    /// Each letter is in the vocabulary, but no pieces of it make up the word.
    Word,
}

impl UnknownCause {
    fn because(&self) -> String {
        match self {
            Self::Written => "they were written so".to_owned(),
            Self::Script { name, letters: 0 } => format!("the vocabulary has no letter of the {name} script"),
            Self::Script { name, letters } => {
                let s = if *letters == 1 { "" } else { "s" };
                format!("the vocabulary has only {letters} letter{s} of the {name} script")
            }
            Self::Symbol => "the vocabulary lacks an emoji or symbol".to_owned(),
            Self::TooLong { most } => format!("a word has more than {most} letters"),
            Self::Capitals => "the vocabulary has no such capitals, only the small letters".to_owned(),
            Self::SmallLetters => "the vocabulary has no such small letters, only the capitals".to_owned(),
            Self::Accents => "the vocabulary lacks letters with such accents or marks".to_owned(),
            Self::Letters => "the vocabulary lacks letters or digits".to_owned(),
            Self::Word => "no pieces of the vocabulary make up the word".to_owned(),
        }
    }
}

/// What of a text its vocabulary does not know, by cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// The unknown piece, such as `[UNK]`.
    pub piece: String,
    /// How many of the text's pieces are it.
    pub count: usize,
    /// How many pieces the text has, without markers.
    pub all: usize,
    /// The most frequent first.
    pub causes: Vec<UnknownBy>,
}

/// The unknown pieces of one cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownBy {
    pub cause: UnknownCause,
    pub count: usize,
    /// The first few: the token's number, and what it came from.
    pub first: Vec<(usize, String)>,
}

impl Unknown {
    /// What of an input is unknown, if anything is.
    pub(super) fn of(input: &Input) -> Option<Self> {
        const FIRST: usize = 3;
        let mut causes: Vec<UnknownBy> = Vec::new();
        let words = || input.tokens.iter().enumerate().filter(|(_, token)| token.role == Role::Word);
        for (number, token) in words() {
            let Some(cause) = &token.unknown else { continue };
            let at = causes.iter().position(|by| by.cause == *cause).unwrap_or_else(|| {
                causes.push(UnknownBy { cause: cause.clone(), count: 0, first: Vec::new() });
                causes.len() - 1
            });
            causes[at].count += 1;
            if causes[at].first.len() < FIRST {
                causes[at].first.push((number, shortened(input.source_of(token).unwrap_or(&token.piece))));
            }
        }
        // Of equally frequent ones, the first in the text stays first.
        causes.sort_by_key(|by| std::cmp::Reverse(by.count));
        let piece = words().find(|(_, token)| token.unknown.is_some())?.1.piece.clone();
        Some(Self { piece, count: causes.iter().map(|by| by.count).sum(), all: words().count(), causes })
    }

    /// A script is the cause, or one of them: a model of another language would read the text.
    pub fn wants_another_model(&self) -> bool {
        self.causes.iter().any(|by| matches!(by.cause, UnknownCause::Script { .. }))
    }

    /// How many, why and where, in a sentence.
    pub fn notice(&self) -> String {
        let Self { piece, count, all, causes } = self;
        let causes: Vec<String> =
            causes.iter().map(|by| format!("{} because {} ({})", by.count, by.cause.because(), by.places())).collect();
        let is = if *count == 1 { "is" } else { "are" };
        let advice = "; open a model trained on that language, such as a multilingual one";
        let advice = if self.wants_another_model() { advice } else { "" };
        format!("{count} of {all} pieces {is} {piece}: {}{advice}", causes.join("; "))
    }
}

impl UnknownBy {
    /// How many more there are than the first few.
    pub fn more(&self) -> usize {
        self.count - self.first.len()
    }

    fn places(&self) -> String {
        let named: Vec<String> = self.first.iter().map(|(token, word)| format!("token {token} “{word}”")).collect();
        let more = if self.more() == 0 { String::new() } else { format!(" and {} more", self.more()) };
        format!("{}{more}", named.join(", "))
    }
}

/// A word in a sentence: the beginning of a long one, never half an emoji, and nothing that would turn the rest round.
fn shortened(word: &str) -> String {
    const MOST: usize = 16;
    let turning = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let word: String = word.trim().chars().filter(|c| !c.is_control() && !turning(*c)).collect();
    let mut seen = word.graphemes(true);
    let beginning: String = seen.by_ref().take(MOST).collect();
    if seen.next().is_some() { format!("{beginning}…") } else { beginning }
}
