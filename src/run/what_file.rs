use std::io::Read;
use std::path::Path;

/// How much of a file tells what it is.
const LOOKED_AT: usize = 4096;

/// What a file is when it is not what its name says, in a sentence for the reader; `None` where nothing is known of it. It is
/// asked for a file that could not be read as what it should be.
pub fn what_it_is(path: &Path) -> Option<String> {
    let mut file = std::fs::File::open(path).ok().filter(|file| file.metadata().is_ok_and(|known| known.is_file()))?;
    let length = file.metadata().ok()?.len();
    let mut start = Vec::new();
    file.by_ref().take(LOOKED_AT as u64).read_to_end(&mut start).ok()?;
    let named = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let kind = kind_of(&start, length)?;
    // A file of the kind that its name speaks of is at fault in another way.
    let fits = match kind {
        Kind::Is(what) => match what {
            TORCH => ["bin", "pt", "pth", "ckpt"].contains(&named.as_str()),
            PICKLE => ["bin", "pt", "pth", "ckpt", "pkl"].contains(&named.as_str()),
            SAFETENSORS => named == "safetensors",
            _ => false,
        },
        Kind::Told(_) => false,
    };
    match kind {
        _ if fits => None,
        Kind::Told(sentence) => Some(sentence.to_owned()),
        Kind::Is(what) => Some(format!("it is {what}, whatever its name says")),
    }
}

/// Why a file could not be read, in the words that help most: what it is instead, else that it is cut short, else `cause`.
pub fn told_cause(path: &Path, cause: String) -> String {
    match what_it_is(path) {
        Some(sentence) => sentence,
        None if cause.starts_with("EOF while parsing") => format!("it is cut short ({cause}): fetch it again"),
        None => cause,
    }
}

#[derive(Clone, Copy)]
enum Kind {
    /// A kind of file.
    Is(&'static str),
    /// A whole sentence.
    Told(&'static str),
}

const TORCH: &str = "a zip archive, as torch.save writes it";
const PICKLE: &str = "a pickle, as old versions of torch.save wrote it";
const SAFETENSORS: &str = "a safetensors file";

/// How kinds of files begin.
const BEGINNINGS: [(&[u8], &str); 22] = [
    (b"PK\x03\x04", TORCH),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"\x1f\x8b", "compressed by gzip"),
    (b"\xfd7zXZ\0", "compressed by xz"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd"),
    (b"BZh", "compressed by bzip2"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!", "a RAR archive"),
    (b"GGUF", "a GGUF file of llama.cpp"),
    (b"ggml", "a GGML file"),
    (b"lmgg", "a GGML file"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file, as TensorFlow and Keras write weights"),
    (b"\x93NUMPY", "an array of NumPy"),
    (b"%PDF", "a PDF"),
    (b"\x89PNG", "a picture (PNG)"),
    (b"\xff\xd8\xff", "a picture (JPEG)"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90", "a program"),
    (b"SQLite format 3", "a database"),
    (b"PAR1", "a table (Parquet)"),
    (b"\xff\xfe", "text in UTF-16; save it as UTF-8"),
    (b"\xfe\xff", "text in UTF-16; save it as UTF-8"),
];

fn kind_of(start: &[u8], length: u64) -> Option<Kind> {
    if length == 0 {
        return Some(Kind::Told("it is empty: fetch it again"));
    }
    if start.starts_with(b"version https://git-lfs") || start.starts_with(b"version https://hawser") {
        return Some(Kind::Told(
            "it is a pointer of git-lfs and not the file itself: run `git lfs pull` in its folder",
        ));
    }
    let path = start.strip_prefix(b"/").unwrap_or(start);
    if length < 1024 && (path.starts_with(b"annex/objects/") || holds(start, b".git/annex/objects/")) {
        return Some(Kind::Told("it is a pointer of git-annex and not the file itself: run `git annex get` on it"));
    }
    if start.iter().all(|byte| *byte == 0) {
        return Some(Kind::Told("it begins with zeros alone, as a download does that broke off: fetch it again"));
    }
    if let Some((_, what)) = BEGINNINGS.iter().find(|(beginning, _)| start.starts_with(beginning)) {
        return Some(Kind::Is(what));
    }
    if start.get(257..262) == Some(b"ustar") {
        return Some(Kind::Is("a tar archive; unpack it"));
    }
    text_kind(start, length).or_else(|| binary_kind(start, length))
}

/// Pages and messages that a server gave in the place of a file.
fn text_kind(start: &[u8], length: u64) -> Option<Kind> {
    let text = String::from_utf8_lossy(start).trim_start_matches('\u{feff}').trim_start().to_lowercase();
    if ["<!doctype html", "<html", "<head", "<body"].iter().any(|tag| text.starts_with(tag)) {
        return Some(Kind::Told(
            "it is a web page (HTML) and not the file itself: fetch the file, not the page about it",
        ));
    }
    if text.starts_with("<?xml") || text.starts_with("<error>") {
        return Some(Kind::Told("it is an XML message, as a server gives in the place of a file: fetch it again"));
    }
    let refusals = [
        "entry not found",
        "repository not found",
        "invalid username or password",
        "access to model",
        "not found",
        "404",
        "403",
        "{\"error\"",
        "{\"message\"",
    ];
    if length < 2048 && refusals.iter().any(|refusal| text.starts_with(refusal)) {
        return Some(Kind::Told("it holds a server's refusal and not the file itself: fetch it again"));
    }
    None
}

fn binary_kind(start: &[u8], length: u64) -> Option<Kind> {
    let is_pickle = start.first() == Some(&0x80) && start.get(1).is_some_and(|protocol| (2..=5).contains(protocol));
    if is_pickle {
        return Some(Kind::Is(PICKLE));
    }
    let header = start.get(..8).and_then(|eight| Some(u64::from_le_bytes(eight.try_into().ok()?)));
    if start.get(8) == Some(&b'{') && header.is_some_and(|header| header <= length.saturating_sub(8).max(100 << 20)) {
        return Some(Kind::Is(SAFETENSORS));
    }
    // A protocol buffer whose first field is a small version number.
    if start.first() == Some(&0x08) && start.get(1).is_some_and(|version| *version < 32) {
        if holds(start, b"saved_model") || holds(start, b"tensorflow") || holds(start, b"StatefulPartitionedCall") {
            return Some(Kind::Is("a model of TensorFlow"));
        }
        if start.get(2) == Some(&0x12) || holds(start, b"onnx") {
            return Some(Kind::Is("an ONNX model"));
        }
    }
    // A map of MessagePack whose first key is a text.
    let key = match start {
        [0x81..=0x8f, rest @ ..] | [0xde, _, _, rest @ ..] => rest,
        _ => return None,
    };
    let text = match key {
        [size @ 0xa1..=0xbf, rest @ ..] => rest.get(..usize::from(size & 0x1f)),
        [0xd9, size, rest @ ..] => rest.get(..usize::from(*size)),
        _ => None,
    };
    text.filter(|text| text.iter().all(u8::is_ascii_graphic))
        .map(|_| Kind::Is("a MessagePack file, as Flax writes weights"))
}

fn holds(start: &[u8], part: &[u8]) -> bool {
    start.windows(part.len()).any(|window| window == part)
}
