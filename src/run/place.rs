//! Writing to a place that somebody named: a file, a link to one, a device, a pipe, an open descriptor.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::RunError;

/// As many links in a row as systems follow.
const MOST_LINKS: usize = 40;

/// Writes bytes to what a path names in the end, links followed.
///
/// A regular file is replaced as a whole, so that no reader meets half of one, and keeps its mode and owner; one that
/// cannot be replaced so (it has several names, is mounted by itself, or its folder takes no new files) is written in
/// place. Devices, pipes and open descriptors (`/dev/stdout`, `/dev/fd/3`) take the bytes as they are.
///
/// # Errors
/// [`RunError::CannotWrite`] with the path and the cause: also for a folder, and for a file that its mode keeps from being
/// written, whoever asks. [`RunError::ReaderGone`] if the other end of a pipe was closed.
pub fn write_bytes(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), RunError> {
    let bytes = bytes.as_ref();
    let written = match Place::of(path) {
        Ok(Place::Descriptor(number)) => write_descriptor(number, bytes),
        Ok(Place::Stream(end)) => OpenOptions::new().write(true).open(end).and_then(|mut file| file.write_all(bytes)),
        Ok(Place::File { end, there }) => replace(&end, there.as_ref(), bytes),
        Err(error) => Err(error),
    };
    written.map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => RunError::ReaderGone(path.to_owned()),
        _ => RunError::CannotWrite { path: path.to_owned(), cause: error.to_string() },
    })
}

/// Whether what is written to a path comes out of standard output.
pub fn is_standard_output(path: &Path) -> bool {
    matches!(Place::of(path), Ok(Place::Descriptor(1)))
}

/// The path at the end of a row of links, whether or not something is there.
///
/// # Errors
/// [`RunError::CannotWrite`] if the links lead round in a circle, or cannot be read.
pub fn end_of_links(path: &Path) -> Result<PathBuf, RunError> {
    let followed = follow(path).map(|followed| match followed {
        Followed::Descriptor(_) => path.to_owned(),
        Followed::Path(end) => end,
    });
    followed.map_err(|error| RunError::CannotWrite { path: path.to_owned(), cause: error.to_string() })
}

/// What a path names in the end.
enum Place {
    /// A descriptor that this program holds open.
    Descriptor(u32),
    /// A device or a pipe.
    Stream(PathBuf),
    /// A regular file, or nothing yet.
    File { end: PathBuf, there: Option<Metadata> },
}

impl Place {
    fn of(path: &Path) -> std::io::Result<Self> {
        let refused = |cause: &str| Err(std::io::Error::other(cause));
        if path.as_os_str().is_empty() {
            return refused("it has no name");
        }
        let end = match follow(path)? {
            Followed::Descriptor(number) => return Ok(Self::Descriptor(number)),
            Followed::Path(end) => end,
        };
        match std::fs::metadata(&end) {
            Ok(there) if there.is_dir() => refused("it is a folder"),
            Ok(there) if there.is_file() => Ok(Self::File { end, there: Some(there) }),
            Ok(_) => Ok(Self::Stream(end)),
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            Err(_) if names_a_folder(path) || names_a_folder(&end) => refused("it names a folder, not a file"),
            Err(_) => Ok(Self::File { end, there: None }),
        }
    }
}

fn names_a_folder(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().last().is_some_and(|last| std::path::is_separator(char::from(*last)))
}

enum Followed {
    Descriptor(u32),
    Path(PathBuf),
}

/// Follows links by hand: the last one may lead to nothing yet, and one to a descriptor is no path at all.
fn follow(path: &Path) -> std::io::Result<Followed> {
    let mut at = path.to_owned();
    for _ in 0..MOST_LINKS {
        if let Some(number) = descriptor(&at) {
            return Ok(Followed::Descriptor(number));
        }
        let link = std::fs::symlink_metadata(&at).is_ok_and(|there| there.is_symlink());
        // Links in /proc are doors to what is open, whatever their text says.
        if !link || folder(&at).is_some_and(|folder| folder.starts_with("/proc")) {
            return Ok(Followed::Path(at));
        }
        let target = std::fs::read_link(&at)?;
        at = match at.parent() {
            Some(parent) => parent.join(target),
            None => target,
        };
    }
    Err(std::io::Error::other("its links lead round in a circle"))
}

/// The folder that a path lies in, without links.
fn folder(path: &Path) -> Option<PathBuf> {
    let parent = path.parent()?;
    std::fs::canonicalize(if parent.as_os_str().is_empty() { Path::new(".") } else { parent }).ok()
}

/// The number of an open descriptor of this program that a path names: `/dev/fd/N`, `/proc/self/fd/N`.
#[cfg(unix)]
fn descriptor(path: &Path) -> Option<u32> {
    let number = path.file_name()?.to_str()?.parse().ok()?;
    let folder = folder(path)?;
    let own = ["/dev/fd", "/proc/self/fd", "/proc/thread-self/fd"];
    own.iter().any(|own| std::fs::canonicalize(own).is_ok_and(|own| own == folder)).then_some(number)
}

#[cfg(not(unix))]
fn descriptor(_path: &Path) -> Option<u32> {
    None
}

/// Through the descriptor itself: opened anew, a file would be written from its start, over what stands there.
#[cfg(unix)]
fn write_descriptor(number: u32, bytes: &[u8]) -> std::io::Result<()> {
    use std::os::fd::{BorrowedFd, RawFd};
    let open = std::fs::metadata(format!("/dev/fd/{number}")).is_ok();
    let Some(number) = RawFd::try_from(number).ok().filter(|number| open && *number >= 0) else {
        return Err(std::io::Error::other("no such descriptor is open"));
    };
    // SAFETY: it is open, as was just seen, and is borrowed for the length of this line.
    let own = unsafe { BorrowedFd::borrow_raw(number) }.try_clone_to_owned()?;
    std::io::stdout().flush()?; // what was printed before comes before
    File::from(own).write_all(bytes)
}

#[cfg(not(unix))]
fn write_descriptor(_number: u32, _bytes: &[u8]) -> std::io::Result<()> {
    Err(std::io::Error::from(ErrorKind::Unsupported))
}

/// Writes a regular file as a whole.
fn replace(end: &Path, there: Option<&Metadata>, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(there) = there {
        // Whoever may do everything may still not mean to overwrite what was locked.
        if there.permissions().readonly() {
            return Err(std::io::Error::other("it is read-only"));
        }
        OpenOptions::new().write(true).open(end)?;
        if has_other_names(there) {
            return std::fs::write(end, bytes);
        }
    }
    let (partial, mut file) = match new_beside(end, there.is_some()) {
        Ok(new) => new,
        Err(_) if there.is_some() => return std::fs::write(end, bytes),
        Err(error) => return Err(error),
    };
    let written = file.write_all(bytes).and_then(|()| file.sync_data());
    if let Err(error) = written {
        std::fs::remove_file(&partial).ok();
        return Err(error);
    }
    let kept = there.is_none_or(|there| keep_owner_and_mode(&file, there).is_ok());
    let renamed = if kept { std::fs::rename(&partial, end) } else { Err(ErrorKind::PermissionDenied.into()) };
    renamed.or_else(|error| {
        std::fs::remove_file(&partial).ok();
        if there.is_some() { std::fs::write(end, bytes) } else { Err(error) }
    })
}

/// A new file in the same folder, under a name that nothing has. What takes the place of another file is nobody else's to
/// read before it has that one's mode.
fn new_beside(end: &Path, private: bool) -> std::io::Result<(PathBuf, File)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    loop {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let partial = end.with_file_name(format!(".headlight-{}-{count}.part", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if private {
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        #[cfg(not(unix))]
        let _ = private;
        match options.open(&partial) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            opened => return opened.map(|file| (partial, file)),
        }
    }
}

#[cfg(unix)]
fn has_other_names(there: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(there) > 1
}

#[cfg(not(unix))]
fn has_other_names(_there: &Metadata) -> bool {
    false
}

/// The owner first: a change of owner takes special bits out of the mode.
#[cfg(unix)]
fn keep_owner_and_mode(file: &File, there: &Metadata) -> std::io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (there.uid(), there.gid()) {
        fchown(file, Some(there.uid()), Some(there.gid()))?;
    }
    file.set_permissions(there.permissions())
}

#[cfg(not(unix))]
fn keep_owner_and_mode(file: &File, there: &Metadata) -> std::io::Result<()> {
    file.set_permissions(there.permissions())
}
