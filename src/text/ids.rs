//! Input given as token numbers, which needs no tokenizer.

use std::sync::Arc;

use super::{TextEncoder, TextError};
use crate::run::{Input, Limit, Role, Segment, Texts, Token, UnknownCause};

/// Reads numbers such as `101 7592 102` (commas do as well) into an input of at most `limit` tokens.
///
/// A tokenizer, where there is one, gives the pieces; without it a token shows its number.
///
/// # Errors
/// [`TextError`] for what is no number, is outside the vocabulary, or is empty.
pub fn parse_ids(
    text: &str,
    vocabulary: usize,
    limit: usize,
    tokenizer: Option<&TextEncoder>,
) -> Result<Input, TextError> {
    let numbers = text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty());
    let ids = numbers
        .map(|word| word.parse::<u32>().map_err(|_| TextError::BadIds(text.to_owned())))
        .collect::<Result<Vec<_>, _>>()?;
    if ids.is_empty() {
        return Err(TextError::NoIds);
    }
    if let Some(&id) = ids.iter().find(|&&id| id as usize >= vocabulary) {
        return Err(TextError::IdOutOfRange { id, vocabulary });
    }
    let full_length = ids.len();
    let tokens = ids.into_iter().take(limit).map(|id| Token {
        id,
        piece: tokenizer.and_then(|tokenizer| tokenizer.piece(id)).unwrap_or_else(|| id.to_string()),
        shown: tokenizer.and_then(|tokenizer| Some(tokenizer.readable(&tokenizer.piece(id)?))),
        span: None,
        word: None,
        segment: Segment::A,
        type_id: 0,
        role: if tokenizer.is_some_and(|tokenizer| tokenizer.is_marker(id)) { Role::Special } else { Role::Word },
        unknown: tokenizer.filter(|tokenizer| tokenizer.is_unknown(id)).map(|_| UnknownCause::Written),
    });
    Ok(Input {
        texts: Arc::new(Texts::default()),
        tokens: tokens.collect(),
        full_length,
        limit: (full_length > limit).then_some(Limit::Positions),
        unread: false,
        masked: Vec::new(),
    })
}
