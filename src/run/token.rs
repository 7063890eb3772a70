use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{MaskPiece, RunError, Unknown, UnknownCause};

/// What a token is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A piece of the reader's text.
    Word,
    /// A marker of the model's own, such as `[CLS]` and `[SEP]`.
    Special,
    /// Fills a row of a batch up; nothing attends to it.
    Padding,
}

/// The first or the second text of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Segment {
    A,
    B,
}

/// A byte range in the original text of a token's segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

impl Span {
    pub fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

/// One token of the model's input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// Number in the vocabulary.
    pub id: u32,
    /// The vocabulary's own spelling, such as `##ing`.
    pub piece: String,
    /// The piece as people read it, where the vocabulary spells it otherwise, such as `Ġthe` or `▁the`.
    pub shown: Option<String>,
    /// Where it came from; `None` for special tokens and for input given as numbers.
    pub span: Option<Span>,
    /// The word it is a piece of, counted from 0 over both segments; `None` for special tokens.
    pub word: Option<usize>,
    pub segment: Segment,
    /// The token type id that the model is given (0 or 1 in BERT).
    pub type_id: u32,
    pub role: Role,
    /// Why the tokenizer knew no piece for this stretch of text, where it did not.
    pub unknown: Option<UnknownCause>,
}

impl Token {
    /// The piece as people read it.
    pub fn label(&self) -> &str {
        self.shown.as_deref().unwrap_or(&self.piece)
    }
}

/// What a reader typed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Texts {
    pub a: String,
    /// The second sentence of a pair.
    pub b: Option<String>,
}

impl Texts {
    pub fn single(text: impl Into<String>) -> Self {
        Self { a: text.into(), b: None }
    }

    pub fn pair(a: impl Into<String>, b: impl Into<String>) -> Self {
        Self { a: a.into(), b: Some(b.into()) }
    }
}

/// Why a text was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limit {
    /// The model has no more positions.
    Positions,
    /// Attention maps of more tokens would not fit the memory that is set aside for them.
    Memory,
}

/// Tokens ready for the model, with the text they came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Input {
    pub texts: Arc<Texts>,
    pub tokens: Vec<Token>,
    /// How many tokens the whole text has: more than `tokens` when it was cut.
    pub full_length: usize,
    /// The text is so long that its end was not even turned into tokens: it has more than `full_length` of them.
    pub unread: bool,
    /// What cut it, if anything did.
    pub limit: Option<Limit>,
    /// Tokens in whose place the model reads its mask, in order.
    pub masked: Vec<MaskedToken>,
}

/// A token in whose place the model reads its mask (`[MASK]` in BERT).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MaskedToken {
    /// Its place among the tokens.
    pub token: usize,
    /// What stands there in the text.
    pub id: u32,
    pub piece: String,
}

impl Input {
    /// Puts the model's mask in the place of a token. One that is masked already stays so.
    ///
    /// # Errors
    /// [`RunError::NoTokenToMask`] if there is no such token, or it is a marker such as `[CLS]`.
    pub fn mask(&mut self, token: usize, mask: &MaskPiece) -> Result<(), RunError> {
        let tokens = self.tokens.len();
        let refused = || RunError::NoTokenToMask { token, tokens };
        let own = self.tokens.get_mut(token).filter(|own| own.role == Role::Word).ok_or_else(refused)?;
        if own.id == mask.id {
            return Ok(());
        }
        let (id, piece) = (own.id, std::mem::replace(&mut own.piece, mask.piece.clone()));
        (own.id, own.unknown, own.shown) = (mask.id, None, None);
        self.masked.push(MaskedToken { token, id, piece });
        self.masked.sort_by_key(|masked| masked.token);
        Ok(())
    }

    /// The text of a segment, if there is one.
    pub fn text_of(&self, segment: Segment) -> Option<&str> {
        match segment {
            Segment::A => Some(&self.texts.a),
            Segment::B => self.texts.b.as_deref(),
        }
    }

    /// The stretch of text that a token came from.
    pub fn source_of(&self, token: &Token) -> Option<&str> {
        self.text_of(token.segment)?.get(token.span?.range())
    }

    /// The stretch of text that neighbouring tokens of one segment came from.
    pub fn source(&self, tokens: Range<usize>) -> Option<&str> {
        let tokens = self.tokens.get(tokens)?;
        let (first, last) = (tokens.first()?, tokens.last()?);
        self.text_of(first.segment)?.get(first.span?.start..last.span?.end)
    }

    /// “512 of 731 tokens shown”, when the text was cut.
    pub fn cut_notice(&self) -> Option<String> {
        let reason = match self.limit? {
            Limit::Positions => "the model has no more positions",
            Limit::Memory => "more would not fit the memory set aside for attention maps",
        };
        let more = if self.unread { "more than " } else { "" };
        Some(format!("{} of {more}{} tokens shown: {reason}", self.tokens.len(), self.full_length))
    }

    /// What of the text its vocabulary does not know, and why; `None` if it knows all of it.
    pub fn unknown(&self) -> Option<Unknown> {
        Unknown::of(self)
    }
}
