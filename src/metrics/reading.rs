use std::ops::Range;

use ndarray::{Array2, ArrayView2, CowArray, Ix2, Zip};
use rayon::prelude::*;

use crate::run::{
    AttentionMaps, HeadId, Input, MapRange, PoolBy, Reading, Role, Run, RunError, Segment, Specials, Units, ViewSpec,
    greatest_finite,
};

/// The tokens that one row or column stands for: one, or the neighbouring pieces of a word.
pub type Unit = Range<usize>;

/// The rows and columns of a map as it is read, in the order of the text.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    pub rows: Vec<Unit>,
    pub columns: Vec<Unit>,
    /// Columns whose sum each row is divided by, where rows are renormalised.
    divisor: Option<Vec<Unit>>,
    tokens: usize,
}

impl Frame {
    pub fn of(input: &Input, reading: Reading) -> Self {
        let all = units(input, reading.units);
        let is_marker = |unit: &Unit| input.tokens[unit.start].role != Role::Word;
        let kept: Vec<Unit> =
            all.into_iter().filter(|unit| reading.specials == Specials::Show || !is_marker(unit)).collect();
        let of_segment = |wanted: Option<Segment>| -> Vec<Unit> {
            let in_it = |unit: &&Unit| wanted.is_none_or(|wanted| input.tokens[unit.start].segment == wanted);
            kept.iter().filter(in_it).cloned().collect()
        };
        let (rows, columns) = (of_segment(reading.segments.queries()), of_segment(reading.segments.keys()));
        let divisor = (reading.specials == Specials::Renormalise).then_some(kept);
        Self { rows, columns, divisor, tokens: input.tokens.len() }
    }

    /// Every token is a row and a column.
    pub fn is_whole(&self) -> bool {
        self.divisor.is_none() && self.rows.len() == self.tokens && self.columns.len() == self.tokens
    }

    /// A head's map `[query, key]` as rows and columns of this frame. Weights to a column's tokens add up, those from a
    /// row's tokens are averaged.
    pub fn read<'a>(&self, map: ArrayView2<'a, f32>) -> CowArray<'a, f32, Ix2> {
        if self.is_whole() {
            return map.into();
        }
        let mut read = Array2::zeros((self.rows.len(), self.columns.len()));
        for (unit, mut row) in self.rows.iter().zip(read.rows_mut()) {
            for query in unit.clone() {
                let own = map.row(query);
                let sum = |unit: &Unit| unit.clone().map(|key| own[key]).sum::<f32>();
                let whole: f32 = self.divisor.as_ref().map_or(1.0, |kept| kept.iter().map(sum).sum());
                // A row of markers alone has nothing to be divided; what is divided by a number that is none, is none.
                let share = match whole {
                    _ if !whole.is_finite() => f32::NAN,
                    _ if whole > 0.0 => 1.0 / (whole * unit.len() as f32),
                    _ => 0.0,
                };
                row.iter_mut().zip(&self.columns).for_each(|(value, column)| *value += sum(column) * share);
            }
        }
        read.into()
    }

    /// The row that holds a token.
    pub fn row_of(&self, token: usize) -> Option<usize> {
        self.rows.iter().position(|unit| unit.contains(&token))
    }

    /// The column that holds a token.
    pub fn column_of(&self, token: usize) -> Option<usize> {
        self.columns.iter().position(|unit| unit.contains(&token))
    }
}

/// Tokens, or neighbouring tokens of the same word. Markers, and tokens whose word is not known, stand alone.
fn units(input: &Input, units: Units) -> Vec<Unit> {
    let mut found: Vec<Unit> = Vec::new();
    for (at, token) in input.tokens.iter().enumerate() {
        let before = found.last_mut().filter(|unit| {
            let first = &input.tokens[unit.start];
            units == Units::Words
                && token.role == Role::Word
                && token.word.is_some()
                && (first.word, first.segment, first.role) == (token.word, token.segment, token.role)
        });
        match before {
            Some(unit) => unit.end = at + 1,
            None => found.push(at..at + 1),
        }
    }
    found
}

/// What a view shows of a run: one head's map, or several as one, as rows and columns of a frame. Heads that say nothing,
/// being pruned or off, are left out of several: they would halve the weights of two.
///
/// # Errors
/// [`RunError::NoSuchHead`] if the model has no such head.
pub fn read_view<'a>(run: &'a Run, frame: &Frame, view: &ViewSpec) -> Result<CowArray<'a, f32, Ix2>, RunError> {
    let Some(pooled) = view.pooled.as_ref().filter(|pooled| !pooled.heads.is_empty()) else {
        return Ok(frame.read(run.attention.head(view.head)?));
    };
    let mut whole = Array2::<f32>::zeros((frame.rows.len(), frame.columns.len()));
    let mut count = 0;
    for &head in &pooled.heads {
        let map = run.attention.head(head)?;
        if run.silence(head).is_some() {
            continue;
        }
        count += 1;
        let map = frame.read(map);
        match pooled.by {
            PoolBy::Mean => Zip::from(&mut whole).and(&map).for_each(|whole, one| *whole += one),
            // A number that is none stays: the greatest of others would hide it.
            PoolBy::Max => Zip::from(&mut whole).and(&map).for_each(|whole, one| {
                *whole = if one.is_nan() || whole.is_nan() { f32::NAN } else { whole.max(*one) };
            }),
        }
    }
    if pooled.by == PoolBy::Mean && count > 0 {
        whole /= count as f32;
    }
    Ok(whole.into())
}

/// The weight that the upper end of the colours stands for where `shown` is what the view shows; above 0. Weights that
/// are not finite have a colour of their own, and count for nothing here.
pub fn upper(maps: &AttentionMaps, frame: &Frame, view: &ViewSpec, shown: ArrayView2<'_, f32>) -> f32 {
    let upper = match view.range {
        MapRange::Head => greatest_finite(shown.iter().copied()),
        MapRange::Layer => greatest(maps, frame, (0..maps.heads()).map(|head| HeadId { head, ..view.head })),
        MapRange::All => greatest(maps, frame, HeadId::all(maps.layers(), maps.heads())),
        MapRange::Unit => 1.0,
        MapRange::Fixed(upper) => upper,
    };
    if upper > 0.0 && upper.is_finite() { upper } else { 1.0 }
}

/// The greatest weight of some heads.
fn greatest(maps: &AttentionMaps, frame: &Frame, heads: impl Iterator<Item = HeadId>) -> f32 {
    let heads: Vec<HeadId> = heads.collect();
    let of_head = |head: &HeadId| maps.head(*head).map_or(0.0, |map| greatest_finite(frame.read(map).iter().copied()));
    heads.par_iter().map(of_head).reduce(|| 0.0, f32::max)
}
