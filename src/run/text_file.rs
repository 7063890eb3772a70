use std::path::Path;

use super::RunError;

/// The lines of a UTF-8 text file that hold more than blanks, each with its number, counted from 1. A byte order mark is
/// no part of the text.
///
/// # Errors
/// [`RunError::CannotRead`] with the cause: also if it is not UTF-8, or holds no text.
pub fn read_lines(path: &Path) -> Result<Vec<(usize, String)>, RunError> {
    let unreadable = |cause: &str| RunError::CannotRead { path: path.to_owned(), cause: cause.to_owned() };
    let bytes = std::fs::read(path).map_err(|error| unreadable(&error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| unreadable("it is not UTF-8 text"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let numbered = text.lines().enumerate().map(|(at, line)| (at + 1, line));
    let lines: Vec<_> =
        numbered.filter(|(_, line)| !line.trim().is_empty()).map(|(at, line)| (at, line.to_owned())).collect();
    if lines.is_empty() { Err(unreadable("it holds no text")) } else { Ok(lines) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_numbers_and_blank_ones_go() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "\u{feff}one\n\n \ntwo\tx\r\n").unwrap();
        assert_eq!(read_lines(file.path()).unwrap(), [(1, "one".to_owned()), (4, "two\tx".to_owned())]);
        for (bytes, wanted) in [(&b" \n\n"[..], "holds no text"), (&[0xff, 0xfe][..], "not UTF-8")] {
            std::fs::write(file.path(), bytes).unwrap();
            assert!(read_lines(file.path()).unwrap_err().to_string().contains(wanted));
        }
        assert!(read_lines(Path::new("no/such.txt")).unwrap_err().to_string().contains("no/such.txt"));
    }
}
