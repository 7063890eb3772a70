//! What the reader holds on to while looking elsewhere: a token or a cell, which every view follows.

use std::ops::Range;

use crate::metrics::{Frame, Unit};
use crate::run::{Input, Segment};

/// A pinned token or cell, by the tokens' places in the text.
#[derive(Debug, Clone, PartialEq)]
pub enum Pin {
    /// What it attends to is looked at.
    Query(Unit),
    /// What attends to it is looked at.
    Key(Unit),
    Cell(Unit, Unit),
}

impl Pin {
    /// The query, where one is pinned.
    pub fn query(&self) -> Option<&Unit> {
        match self {
            Self::Query(query) | Self::Cell(query, _) => Some(query),
            Self::Key(_) => None,
        }
    }

    /// The key, where one is pinned.
    pub fn key(&self) -> Option<&Unit> {
        match self {
            Self::Key(key) | Self::Cell(_, key) => Some(key),
            Self::Query(_) => None,
        }
    }

    /// The row and the column of a frame that are pinned.
    pub fn in_frame(pin: Option<&Self>, frame: &Frame) -> (Option<usize>, Option<usize>) {
        let row = pin.and_then(Self::query).and_then(|query| frame.row_of(query.start));
        let column = pin.and_then(Self::key).and_then(|key| frame.column_of(key.start));
        (row, column)
    }

    /// Whether its tokens are there in a text of so many.
    pub fn within(&self, tokens: usize) -> bool {
        [self.query(), self.key()].into_iter().flatten().all(|unit| unit.end <= tokens)
    }
}

/// The rows or columns of each text of a pair, with its letter; none where there is one text.
pub fn segments(input: &Input, units: &[Unit]) -> Vec<(Range<usize>, char)> {
    if input.texts.b.is_none() {
        return Vec::new();
    }
    let mut found: Vec<(Range<usize>, char)> = Vec::new();
    for (at, unit) in units.iter().enumerate() {
        let letter = if input.tokens[unit.start].segment == Segment::A { 'A' } else { 'B' };
        match found.last_mut().filter(|(_, own)| *own == letter) {
            Some((range, _)) => range.end = at + 1,
            None => found.push((at..at + 1, letter)),
        }
    }
    found
}
