//! What is told about a view and a run, in the language of the window. Figures and the command line say the same in
//! English.

use super::lang::tr;
use super::unknown::unknown_notice;
use crate::run::{ColorScale, HeadId, Limit, PoolBy, Run, Segments, Specials, Units, ViewSpec};

/// What a view shows: “layer 3, head 4” or “mean of heads 0.1, 3.4”.
pub fn view_name(view: &ViewSpec) -> String {
    let HeadId { layer, head } = view.head;
    let Some(pooled) = &view.pooled else { return tr!("layer %{a}, head %{b}", a = layer, b = head) };
    let (first, rest) = pooled.heads.split_at(pooled.heads.len().min(6));
    let mut named = first.iter().map(HeadId::to_string).collect::<Vec<_>>().join(", ");
    if !rest.is_empty() {
        named = tr!("%{a} and %{b} more", a = named, b = rest.len());
    }
    match pooled.by {
        PoolBy::Mean => tr!("mean of heads %{a}", a = named),
        PoolBy::Max => tr!("max of heads %{a}", a = named),
    }
}

/// How a view reads its map, where that is not the plain way.
pub fn reading_notes(view: &ViewSpec) -> Vec<String> {
    let reading = view.reading;
    let mut notes = Vec::new();
    if reading.units == Units::Words {
        notes.push(tr!("words: weights to pieces add up, from pieces are averaged").to_owned());
    }
    match reading.specials {
        Specials::Show => {}
        Specials::Hide => notes.push(tr!("special tokens hidden: rows sum to less than 1").to_owned()),
        Specials::Renormalise => notes.push(tr!("special tokens hidden, rows renormalised").to_owned()),
    }
    if reading.segments != Segments::All {
        notes.push(tr!("segments %{a} alone", a = reading.segments.name()));
    }
    if view.scale != ColorScale::Linear {
        notes.push(tr!("%{a} colours", a = tr!(view.scale.name())));
    }
    notes
}

/// What the reader must be told about a run, most important first.
pub fn notices(run: &Run) -> Vec<String> {
    let input = &run.input;
    let mut notices = Vec::new();
    notices.extend(input.unknown().map(|unknown| unknown_notice(&unknown)));
    let (shown, all) = (input.tokens.len(), input.full_length);
    let all = if input.unread { format!("> {all}") } else { all.to_string() };
    match input.limit {
        None => {}
        Some(Limit::Positions) => {
            notices.push(tr!("%{a} of %{b} tokens shown: the model has no more positions", a = shown, b = all));
        }
        Some(Limit::Memory) => notices.push(tr!(
            "%{a} of %{b} tokens shown: more would not fit the memory set aside for attention maps",
            a = shown,
            b = all
        )),
    }
    notices.extend(run.remarks.iter().cloned());
    notices
}
