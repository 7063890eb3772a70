use ndarray::{Array2, ArrayView1};

use super::divergence::row_divergence;
use super::reading::{Frame, Unit, read_view};
use crate::run::{Input, Role, Run, RunError, Units, ViewSpec, align, greatest_finite};

/// Two maps side by side, and their difference where they share tokens.
#[derive(Debug, Clone)]
pub struct Comparison {
    pub a: Compared,
    pub b: Compared,
    /// A − B over what both have, `[row, column]`.
    pub difference: Array2<f32>,
    /// The rows of A and of B that stand in each row of the difference, and likewise for columns.
    pub rows: Vec<(usize, usize)>,
    pub columns: Vec<(usize, usize)>,
    /// The Jensen–Shannon divergence of each row of the difference, in nats, from 0 to ln 2. Where some columns of a row
    /// have no partner, the weights that are left in it are divided by their sum first.
    pub divergence: Vec<f32>,
    /// Both texts have the same tokens. Otherwise both are read by words, and words are aligned by longest common
    /// subsequence.
    pub same_tokens: bool,
}

/// One side of a comparison as it is read.
#[derive(Debug, Clone)]
pub struct Compared {
    pub frame: Frame,
    /// `[row, column]`
    pub map: Array2<f32>,
}

impl Comparison {
    /// Compares what two views show of two runs.
    ///
    /// # Errors
    /// [`RunError::NoSuchHead`] if a model has not the head that is asked for.
    pub fn of((run_a, view_a): (&Run, &ViewSpec), (run_b, view_b): (&Run, &ViewSpec)) -> Result<Self, RunError> {
        let pieces = |run: &Run| -> Vec<_> {
            run.input.tokens.iter().map(|token| (token.piece.clone(), token.segment)).collect()
        };
        let same_tokens = pieces(run_a) == pieces(run_b) && view_a.reading == view_b.reading;
        let read = |run: &Run, view: &ViewSpec| -> Result<Compared, RunError> {
            let mut reading = view.reading;
            if !same_tokens {
                reading.units = Units::Words;
            }
            let frame = Frame::of(&run.input, reading);
            let map = read_view(run, &frame, view)?.into_owned();
            Ok(Compared { frame, map })
        };
        let (a, b) = (read(run_a, view_a)?, read(run_b, view_b)?);
        let shared = |of_a: &[Unit], of_b: &[Unit]| -> Vec<(usize, usize)> {
            if same_tokens {
                return (0..of_a.len()).map(|at| (at, at)).collect();
            }
            let partner = align(&words(&run_a.input, of_a), &words(&run_b.input, of_b));
            partner.into_iter().enumerate().filter_map(|(b, a)| Some((a?, b))).collect()
        };
        let rows = shared(&a.frame.rows, &b.frame.rows);
        let columns = shared(&a.frame.columns, &b.frame.columns);
        let difference = Array2::from_shape_fn((rows.len(), columns.len()), |(row, column)| {
            let ((row_a, row_b), (column_a, column_b)) = (rows[row], columns[column]);
            a.map[[row_a, column_a]] - b.map[[row_b, column_b]]
        });
        let divergence = rows.iter().map(|&(row_a, row_b)| {
            let part = |row: ArrayView1<'_, f32>, of_b: bool| -> Vec<f32> {
                let kept: Vec<f32> = columns.iter().map(|&(a, b)| row[if of_b { b } else { a }]).collect();
                let sum: f32 = kept.iter().sum();
                let divide = !same_tokens && sum > 0.0;
                if divide { kept.iter().map(|weight| weight / sum).collect() } else { kept }
            };
            let (row_a, row_b) = (part(a.map.row(row_a), false), part(b.map.row(row_b), true));
            row_divergence(ArrayView1::from(&row_a), ArrayView1::from(&row_b))
        });
        let divergence = divergence.collect();
        Ok(Self { a, b, difference, rows, columns, divergence, same_tokens })
    }

    /// The mean divergence over rows; `None` where no row is shared.
    pub fn total(&self) -> Option<f32> {
        let rows = self.divergence.len();
        (rows > 0).then(|| self.divergence.iter().sum::<f32>() / rows as f32)
    }

    /// The greatest finite difference, whatever its sign.
    pub fn greatest(&self) -> f32 {
        greatest_finite(self.difference.iter().map(|value| value.abs()))
    }

    /// The rows of A, and those of B, that have no partner.
    pub fn left_out(&self) -> (Vec<usize>, Vec<usize>) {
        let without = |all: usize, used: &dyn Fn(usize) -> bool| (0..all).filter(|row| !used(*row)).collect();
        (
            without(self.a.frame.rows.len(), &|row| self.rows.iter().any(|(a, _)| *a == row)),
            without(self.b.frame.rows.len(), &|row| self.rows.iter().any(|(_, b)| *b == row)),
        )
    }
}

/// What words are known by: their letters, whatever their case. All markers are alike, since models name theirs differently.
fn words(input: &Input, units: &[Unit]) -> Vec<Option<String>> {
    let word = |unit: &Unit| {
        let tokens = &input.tokens[unit.clone()];
        if tokens.first().is_none_or(|token| token.role != Role::Word) {
            return None;
        }
        let label = || tokens.iter().map(|token| token.label()).collect::<String>();
        Some(input.source(unit.clone()).map_or_else(label, str::to_owned).trim().to_lowercase())
    };
    units.iter().map(word).collect()
}
