//! A map as the reader looks at it, with its labels and colours.

use std::sync::Arc;

use ndarray::Array2;

use super::lang::tr;
use crate::figure::{Tint, printable, unit_labels};
use crate::metrics::{Frame, Unit, read_view, upper};
use crate::run::{Run, ViewSpec};

/// A map as it is read, with what belongs to it.
pub struct ReadMap {
    run: Arc<Run>,
    view: ViewSpec,
    pub frame: Frame,
    pub rows: Vec<String>,
    pub columns: Vec<String>,
    /// What each row gives to each column.
    pub map: Array2<f32>,
    pub tint: Tint,
}

impl ReadMap {
    pub fn of(run: &Arc<Run>, view: &ViewSpec) -> Option<Self> {
        let frame = Frame::of(&run.input, view.reading);
        let map = read_view(&run.attention, &frame, view).ok()?;
        let upper = upper(&run.attention, &frame, view, map.view());
        Some(Self {
            rows: unit_labels(&run.input, &frame.rows),
            columns: unit_labels(&run.input, &frame.columns),
            tint: Tint::new(view.colors, upper, view.scale).over(map.iter()),
            map: map.into_owned(),
            run: run.clone(),
            view: view.clone(),
            frame,
        })
    }

    pub fn is_of(&self, run: &Arc<Run>, view: &ViewSpec) -> bool {
        Arc::ptr_eq(&self.run, run) && self.view == *view
    }

    /// “it → animal: 0.1234”
    pub fn explain(&self, (row, column): (usize, usize)) -> Option<String> {
        let weight = *self.map.get((row, column))?;
        let pruned = &self.run.model.pruned;
        if self.view.heads().iter().all(|head| pruned.contains(head)) {
            return Some(tr!("this head was pruned from the model").to_owned());
        }
        let (query, key) = (self.rows.get(row)?, self.columns.get(column)?);
        if self.map.row(row).iter().all(|weight| *weight == 0.0) {
            return Some(tr!("%{query} attends to nothing that is shown", query = query));
        }
        let digits = if weight > 0.0 && weight < 0.001 { format!("{weight:.2e}") } else { format!("{weight:.4}") };
        let spelled = self.spelled([&self.frame.rows[row], &self.frame.columns[column]]);
        Some(format!("{query} → {key}: {digits}{spelled}"))
    }

    /// The vocabulary's own pieces, where they are not what is shown.
    fn spelled(&self, units: [&Unit; 2]) -> String {
        let tokens = |unit: &Unit| &self.run.input.tokens[unit.clone()];
        let plain = |unit: &Unit| match tokens(unit) {
            [token] => token.shown.as_ref().is_none_or(|shown| *shown == token.piece),
            _ => false,
        };
        if units.into_iter().all(plain) {
            return String::new();
        }
        let [query, key] = units.map(|unit| {
            let pieces: Vec<String> = tokens(unit).iter().map(|token| printable(&token.piece)).collect();
            pieces.join(" ")
        });
        tr!("\npieces %{query} → %{key}", query = query, key = key)
    }
}
