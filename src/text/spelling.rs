//! How a vocabulary spells its pieces, and how a reader reads them.

use std::collections::HashMap;
use std::sync::LazyLock;

use tokenizers::Tokenizer;
use tokenizers::decoders::DecoderWrapper;
use tokenizers::models::ModelWrapper;
use tokenizers::pre_tokenizers::PreTokenizerWrapper;

/// A vocabulary's spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    /// As it is, such as WordPiece's `##ing`.
    Plain,
    /// A letter for each byte, `Ġ` for a blank (Radford et al. 2019).
    Bytes,
    /// `▁` for a blank (SentencePiece).
    Underlined,
}

/// What a piece shows that is nothing but a blank.
const BLANK: &str = "␣";

impl Spelling {
    pub fn of(tokenizer: &Tokenizer) -> Self {
        let by_bytes = |pre: &PreTokenizerWrapper| match pre {
            PreTokenizerWrapper::ByteLevel(_) => true,
            PreTokenizerWrapper::Sequence(sequence) => {
                sequence.as_ref().iter().any(|pre| matches!(pre, PreTokenizerWrapper::ByteLevel(_)))
            }
            _ => false,
        };
        let decodes_bytes = matches!(tokenizer.get_decoder(), Some(DecoderWrapper::ByteLevel(_)));
        if decodes_bytes || tokenizer.get_pre_tokenizer().is_some_and(by_bytes) {
            return Self::Bytes;
        }
        let underlined = matches!(tokenizer.get_decoder(), Some(DecoderWrapper::Metaspace(_)));
        if underlined || matches!(tokenizer.get_model(), ModelWrapper::Unigram(_)) {
            Self::Underlined
        } else {
            Self::Plain
        }
    }

    /// A piece as people read it, where that differs from its spelling.
    pub fn readable(self, piece: &str) -> Option<String> {
        let read = match self {
            Self::Plain => return None,
            Self::Underlined => piece.replace('▁', " "),
            Self::Bytes => {
                let bytes: Option<Vec<u8>> = piece.chars().map(|letter| BYTES.get(&letter).copied()).collect();
                match String::from_utf8(bytes?) {
                    Ok(text) => text,
                    // A part of a letter that is spread over several pieces.
                    Err(error) => error.as_bytes().iter().map(|byte| format!("‹{byte:02X}›")).collect(),
                }
            }
        };
        let trimmed = read.trim();
        let read = if trimmed.is_empty() && !read.is_empty() { BLANK } else { trimmed };
        (read != piece).then(|| read.to_owned())
    }
}

/// The byte that a letter of the byte-level alphabet stands for.
static BYTES: LazyLock<HashMap<char, u8>> = LazyLock::new(|| {
    // Printable bytes stand for themselves, the others for the letters from U+0100 on, in their order.
    let printable = |byte: &u8| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    let others = (0..=255u8).filter(|byte| !printable(byte)).zip(0x100u32..);
    let own = (0..=255u8).filter(printable).map(|byte| (char::from(byte), byte));
    own.chain(others.filter_map(|(byte, letter)| Some((char::from_u32(letter)?, byte)))).collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_shown_as_people_read_them() {
        let bytes = |piece: &str| Spelling::Bytes.readable(piece);
        assert_eq!(bytes("Ġthe"), Some("the".into()));
        assert_eq!(bytes("the"), None);
        assert_eq!(bytes("Ġ"), Some("␣".into()));
        assert_eq!(bytes("ä½łå¥½"), Some("你好".into()));
        assert_eq!(bytes("ä½"), Some("‹E4›‹BD›".into()));
        assert_eq!(bytes("<mask>"), None);
        assert_eq!(bytes("你"), None, "no spelling of bytes: as it is");
        assert_eq!(Spelling::Underlined.readable("▁the"), Some("the".into()));
        assert_eq!(Spelling::Underlined.readable("▁"), Some("␣".into()));
        assert_eq!(Spelling::Plain.readable("##ing"), None);
        assert_eq!(BYTES.len(), 256);
    }
}
