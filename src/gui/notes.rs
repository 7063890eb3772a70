//! What is told about a view and a run, in the language of the window. Figures and the command line say the same in
//! English.

use super::lang::tr;
use super::unknown::unknown_notice;
use crate::run::{ColorScale, HeadId, Limit, PoolBy, Run, Segments, Silence, Specials, Units, ViewSpec};

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

/// How a view reads a run's map, where that is not the plain way.
pub fn reading_notes(run: &Run, view: &ViewSpec) -> Vec<String> {
    let reading = view.reading;
    let mut notes: Vec<String> = silence_note(run, view).into_iter().collect();
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
    match view.scale {
        ColorScale::Linear => {}
        ColorScale::ByRow => notes.push(tr!("colours by row: each row divided by its greatest weight").to_owned()),
        ColorScale::Percentile => {
            notes.push(tr!("colours by percentile: by rank among all weights above 0").to_owned());
        }
        ColorScale::Sqrt | ColorScale::Log => notes.push(tr!("%{a} colours", a = tr!(view.scale.name()))),
    }
    notes
}

/// Which of the heads that are to be drawn say nothing.
fn silence_note(run: &Run, view: &ViewSpec) -> Option<String> {
    if view.pooled.is_none() {
        let pruned = run.silence(view.head) == Some(Silence::Pruned);
        return pruned.then(|| tr!("head %{a} is pruned", a = view.head));
    }
    let named = |head: &HeadId| match run.silence(*head)? {
        Silence::Pruned => Some(tr!("%{a} (pruned)", a = head)),
        Silence::Off => Some(tr!("%{a} (off)", a = head)),
    };
    let silent: Vec<String> = view.heads().iter().filter_map(named).collect();
    let all = silent.len() == view.heads().len();
    let silent = silent.join(", ");
    match silent.is_empty() {
        true => None,
        false if all => Some(tr!("left out: %{a}: no head is left", a = silent)),
        false => Some(tr!("left out: %{a}", a = silent)),
    }
}

/// What stands beside a colour bar: what its values are and, where that is not the plain one, by which scale.
pub fn bar_title(values: &str, scale: ColorScale) -> String {
    if scale == ColorScale::Linear { values.to_owned() } else { format!("{values} ({})", tr!(scale.name())) }
}

/// The number under the pointer and, where that pixel has the colour of another cell, that one's.
pub fn with_drawn(number: String, drawn: Option<String>) -> String {
    match drawn {
        Some(drawn) => tr!("%{a}\nthis pixel's colour, the largest under it: %{b}", a = number, b = drawn),
        None => number,
    }
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
