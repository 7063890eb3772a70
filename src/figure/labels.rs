use crate::metrics::Unit;
use crate::run::{ColorScale, HeadId, Input, Run, Segments, Silence, Specials, Token, Units, ViewSpec};

/// A label that can be drawn: characters that XML forbids, and others without a shape, become visible stand-ins.
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
            '\x7f' => '\u{2421}',
            // C1 controls, and what bidirectional text could use to turn the rest of a label round.
            '\u{80}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
            '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
            _ => c,
        })
        .collect()
}

/// The label of a row or column: the vocabulary's piece as people read it, or the word as it was typed. An unknown piece
/// shows the text that it stands for beside it.
pub fn unit_label(input: &Input, unit: &Unit) -> String {
    match &input.tokens[unit.clone()] {
        [token] => label(input, token),
        tokens => {
            let joined = || tokens.iter().map(|token| token.label().trim_start_matches("##")).collect();
            printable(&input.source(unit.clone()).map_or_else(joined, str::to_owned))
        }
    }
}

/// Labels of rows or columns.
pub fn unit_labels(input: &Input, units: &[Unit]) -> Vec<String> {
    units.iter().map(|unit| unit_label(input, unit)).collect()
}

/// What a view shows: “layer 3, head 4” or “mean of heads 0.1, 3.4”.
pub fn view_name(view: &ViewSpec) -> String {
    let HeadId { layer, head } = view.head;
    match &view.pooled {
        None => format!("layer {layer}, head {head}"),
        Some(pooled) => {
            let (first, rest) = pooled.heads.split_at(pooled.heads.len().min(6));
            let named: Vec<String> = first.iter().map(HeadId::to_string).collect();
            let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
            format!("{} of heads {}{more}", pooled.by.name(), named.join(", "))
        }
    }
}

/// How a view reads a run's map, where that is not the plain way: what must be told beside the picture.
pub fn reading_notes(run: &Run, view: &ViewSpec) -> Vec<String> {
    let reading = view.reading;
    let mut notes: Vec<String> = silence_note(run, view).into_iter().collect();
    if reading.units == Units::Words {
        notes.push("words: weights to pieces add up, from pieces are averaged".to_owned());
    }
    match reading.specials {
        Specials::Show => {}
        Specials::Hide => notes.push("special tokens hidden: rows sum to less than 1".to_owned()),
        Specials::Renormalise => notes.push("special tokens hidden, rows renormalised".to_owned()),
    }
    if reading.segments != Segments::All {
        notes.push(format!("segments {} alone", reading.segments.name()));
    }
    match view.scale {
        ColorScale::Linear => {}
        ColorScale::ByRow => notes.push("colours by row: each row divided by its greatest weight".to_owned()),
        ColorScale::Percentile => notes.push("colours by percentile: by rank among all weights above 0".to_owned()),
        ColorScale::Sqrt | ColorScale::Log => notes.push(format!("{} colours", view.scale.name())),
    }
    notes
}

/// Why nothing of a run is left to draw, where its rows or columns are none.
pub(super) fn why_nothing(run: &Run, view: &ViewSpec) -> &'static str {
    match view.reading.segments {
        Segments::All => "it has special tokens alone, and they are hidden: show them",
        _ if run.input.texts.b.is_none() => {
            "its segments are those of a pair, and this is a single text: give a second text, or show all segments"
        }
        _ => "one of its segments has special tokens alone, and they are hidden: show them, or all segments",
    }
}

/// Which of the heads that are to be drawn say nothing.
fn silence_note(run: &Run, view: &ViewSpec) -> Option<String> {
    if view.pooled.is_none() {
        return (run.silence(view.head) == Some(Silence::Pruned)).then(|| format!("head {} is pruned", view.head));
    }
    let named = |head: &HeadId| match run.silence(*head)? {
        Silence::Pruned => Some(format!("{head} (pruned)")),
        Silence::Off => Some(format!("{head} (off)")),
    };
    let silent: Vec<String> = view.heads().iter().filter_map(named).collect();
    let none_is_left = if silent.len() == view.heads().len() { ": no head is left" } else { "" };
    (!silent.is_empty()).then(|| format!("left out: {}{none_is_left}", silent.join(", ")))
}

/// What stands beside a colour bar: what its values are and, where that is not the plain one, by which scale.
pub(super) fn bar_title(values: &str, scale: ColorScale) -> String {
    if scale == ColorScale::Linear { values.to_owned() } else { format!("{values} ({})", scale.name()) }
}

fn label(input: &Input, token: &Token) -> String {
    match input.source_of(token) {
        Some(source) if token.unknown.is_some() && source != token.piece && !source.is_empty() => {
            printable(&format!("{source} {}", token.piece))
        }
        _ => printable(token.label()),
    }
}

/// Labels stand at every n-th cell: the smallest n at which labels of `needed` pixels do not touch in cells of
/// `cell` pixels.
pub fn every_nth(cell: f32, needed: f32) -> usize {
    if cell <= 0.0 { usize::MAX } else { ((needed / cell).ceil() as usize).max(1) }
}

/// Shortens a label in its middle to about `most` characters.
pub(super) fn shorten(label: &str, most: usize) -> String {
    let length = label.chars().count();
    if length <= most.max(3) {
        return label.to_owned();
    }
    let (head, tail) = ((most.max(3) - 1).div_ceil(2), (most.max(3) - 1) / 2);
    label.chars().take(head).chain(['…']).chain(label.chars().skip(length - tail)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_drawn_gets_a_stand_in() {
        assert_eq!(printable("a\0b\tc\u{7f}"), "a␀b␉c␡");
        assert_eq!(printable("\u{202e}abc\u{ffff}"), "\u{fffd}abc\u{fffd}");
        assert_eq!(printable("שלום 你好 👩‍👩‍👧"), "שלום 你好 👩‍👩‍👧");
    }

    #[test]
    fn labels_thin_out_before_they_touch() {
        assert_eq!(every_nth(20.0, 12.0), 1);
        assert_eq!(every_nth(12.0, 12.0), 1);
        assert_eq!(every_nth(5.0, 12.0), 3);
        assert_eq!(every_nth(0.0, 12.0), usize::MAX);
    }

    #[test]
    fn shortening_counts_characters_and_keeps_both_ends() {
        assert_eq!(shorten("internationalisation", 9), "inte…tion");
        assert_eq!(shorten("中文", 9), "中文");
    }
}
