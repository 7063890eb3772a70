//! Files of text, in the encodings in which people's editors and shells write them.

use std::borrow::Cow;
use std::path::Path;

use super::RunError;

/// The lines of a text file that hold more than blanks, each with its number, counted from 1. It is UTF-8, or what its byte
/// order mark says; the mark is no part of the text.
///
/// # Errors
/// [`RunError::CannotRead`] with the cause: also if it is in another encoding, or holds no text.
pub fn read_lines(path: &Path) -> Result<Vec<(usize, String)>, RunError> {
    let unreadable = |cause: String| RunError::CannotRead { path: path.to_owned(), cause };
    lines_of(&std::fs::read(path).map_err(|error| unreadable(error.to_string()))?, path)
}

/// The lines of a text that was read already, from what `name` says; else as [`read_lines`].
///
/// # Errors
/// As [`read_lines`].
pub fn lines_of(bytes: &[u8], name: &Path) -> Result<Vec<(usize, String)>, RunError> {
    let unreadable = |cause: &str| RunError::CannotRead { path: name.to_owned(), cause: cause.to_owned() };
    let text = decode(bytes).map_err(unreadable)?;
    let numbered = text.lines().enumerate().map(|(at, line)| (at + 1, line));
    let lines: Vec<_> =
        numbered.filter(|(_, line)| !line.trim().is_empty()).map(|(at, line)| (at, line.to_owned())).collect();
    if lines.is_empty() { Err(unreadable("it holds no text")) } else { Ok(lines) }
}

/// The bytes of a text in UTF-8 without a byte order mark: UTF-16 that has one is written anew. What cannot be read so is
/// left as it is, for its reader to refuse.
pub fn as_utf8(bytes: &[u8]) -> Cow<'_, [u8]> {
    match decode(bytes) {
        Ok(Cow::Borrowed(text)) => Cow::Borrowed(text.as_bytes()),
        Ok(Cow::Owned(text)) => Cow::Owned(text.into_bytes()),
        Err(_) => Cow::Borrowed(bytes),
    }
}

/// Reads text by its byte order mark, as UTF-8 where it has none.
fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, &'static str> {
    match bytes {
        // Before UTF-16, whose mark is the first half of this one's.
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => Err("it is UTF-32 text: save it as UTF-8"),
        [0xff, 0xfe, rest @ ..] => utf_16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf_16(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => utf_8(rest),
        _ => utf_8(bytes),
    }
}

fn utf_8(bytes: &[u8]) -> Result<Cow<'_, str>, &'static str> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8 text")?;
    // Latin letters of UTF-16 are valid UTF-8 with a zero beside each, and would be read as other words.
    if text.contains('\0') {
        return Err(
            "it holds zero bytes, as UTF-16 without a byte order mark or a file that is no text: save it as UTF-8",
        );
    }
    Ok(Cow::Borrowed(text))
}

fn utf_16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<Cow<'static, str>, &'static str> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err("it is UTF-16 text that breaks off within a letter");
    }
    let units = pairs.iter().map(|pair| unit(*pair));
    let text: Result<String, _> = char::decode_utf16(units).collect();
    text.map(Cow::Owned).map_err(|_| "its byte order mark says UTF-16, and it is not")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_numbers_and_blank_ones_go() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "\u{feff}one\n\n \ntwo\tx\r\n").unwrap();
        assert_eq!(read_lines(file.path()).unwrap(), [(1, "one".to_owned()), (4, "two\tx".to_owned())]);
        for (bytes, wanted) in
            [(&b" \n\n"[..], "holds no text"), (&[0xe4, 0x62][..], "not UTF-8"), (&[0xff, 0xfe][..], "holds no text")]
        {
            std::fs::write(file.path(), bytes).unwrap();
            assert!(read_lines(file.path()).unwrap_err().to_string().contains(wanted));
        }
        assert!(read_lines(Path::new("no/such.txt")).unwrap_err().to_string().contains("no/such.txt"));
    }

    #[test]
    fn the_byte_order_mark_says_how_to_read() {
        let text = "naïve 猫\t😀\r\n\r\nzwei\r\n";
        let wanted = [(1, "naïve 猫\t😀".to_owned()), (3, "zwei".to_owned())];
        let marked = format!("\u{feff}{text}");
        let little: Vec<u8> = marked.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = marked.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for bytes in [text.as_bytes(), marked.as_bytes(), &little, &big] {
            assert_eq!(lines_of(bytes, Path::new("x")).unwrap(), wanted);
            assert_eq!(as_utf8(bytes), text.as_bytes());
        }
        let refused = |bytes: &[u8]| {
            assert_eq!(as_utf8(bytes), bytes, "left to its reader");
            lines_of(bytes, Path::new("x")).unwrap_err().to_string()
        };
        assert!(refused(&little[..little.len() - 1]).contains("within a letter"));
        assert!(refused(&[0xff, 0xfe, 0x3d, 0xd8]).contains("and it is not"), "half of an emoji");
        assert!(refused(&little[2..]).contains("UTF-8"), "without its mark");
        assert!(refused(b"a\0b\0").contains("without a byte order mark"));
        let wide: Vec<u8> = marked.chars().flat_map(|letter| (letter as u32).to_le_bytes()).collect();
        assert!(refused(&wide).contains("UTF-32"));
    }
}
