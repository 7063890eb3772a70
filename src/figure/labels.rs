use crate::run::{Input, Token};

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

/// One label a token: the vocabulary's piece as people read it. An unknown piece shows the text that it stands for beside it.
pub fn token_labels(input: &Input) -> Vec<String> {
    input.tokens.iter().map(|token| label(input, token)).collect()
}

fn label(input: &Input, token: &Token) -> String {
    match input.source_of(token) {
        Some(source) if token.unknown && source != token.piece && !source.is_empty() => {
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
