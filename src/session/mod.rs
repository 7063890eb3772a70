//! What a saved session holds, and reading it back: texts and edits, from which everything is computed again; never a
//! matrix.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::run::{Edit, Recipe, RunError, Texts, ViewSpec, as_utf8, write_bytes};

/// A session as a file holds it (JSON).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Session {
    /// Which of this program's formats it is.
    pub version: u32,
    pub model: ModelName,
    pub texts: Texts,
    /// Tokens in whose place the model reads its mask, counted from 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub masked: Vec<usize>,
    /// In the order in which they apply.
    #[serde(default)]
    pub edits: Vec<SavedEdit>,
    #[serde(default)]
    pub view: ViewSpec,
    /// The run that was pinned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned: Option<Recipe>,
}

/// The model that a session was made with.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ModelName {
    /// The name of its folder, by which it is sought where the folder is not there.
    pub name: String,
    pub folder: PathBuf,
}

impl ModelName {
    /// Where it is: its folder if that is there, else its name, to be sought among the models.
    pub fn place(&self) -> PathBuf {
        if self.folder.is_dir() { self.folder.clone() } else { PathBuf::from(&self.name) }
    }
}

/// An edit, switched on or off.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SavedEdit {
    pub edit: Edit,
    #[serde(default = "on")]
    pub on: bool,
}

fn on() -> bool {
    true
}

/// Why a session could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error("cannot read {}: {cause}", path.display())]
    Unreadable { path: PathBuf, cause: String },
    #[error("{} is no session that can be used: {cause}", path.display())]
    Malformed { path: PathBuf, cause: String },
    #[error(
        "{} was saved by a later version of Headlight (its format is {version}, this one reads up to {})",
        path.display(),
        Session::VERSION
    )]
    TooNew { path: PathBuf, version: u32 },
}

impl Session {
    /// The format that this program writes.
    pub const VERSION: u32 = 1;
    /// Texts and edits are small; what is larger is something else.
    const MOST_BYTES: u64 = 16 << 20;

    /// Reads a session.
    ///
    /// # Errors
    /// [`SessionError`] if the file cannot be read, is no session, or of a later format.
    pub fn read(path: &Path) -> Result<Self, SessionError> {
        let unreadable = |cause: String| SessionError::Unreadable { path: path.to_owned(), cause };
        let mut bytes = Vec::new();
        // Of a pipe the length is not known before.
        let read = File::open(path).and_then(|file| file.take(Self::MOST_BYTES + 1).read_to_end(&mut bytes));
        let size = read.map_err(|error| unreadable(error.to_string()))? as u64;
        if size > Self::MOST_BYTES {
            return Err(unreadable(format!("it has more than {} bytes, more than any session", Self::MOST_BYTES)));
        }
        Self::from_json(&bytes, path)
    }

    /// Reads the text of a session that lies at `path`.
    ///
    /// # Errors
    /// [`SessionError`] if it is no session, or of a later format.
    pub fn from_json(text: &[u8], path: &Path) -> Result<Self, SessionError> {
        /// Asked first, so that a later format says so rather than what it has changed.
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let malformed =
            |error: serde_json::Error| SessionError::Malformed { path: path.to_owned(), cause: error.to_string() };
        let text = &*as_utf8(text);
        let Version { version } = serde_json::from_slice(text).map_err(malformed)?;
        if version > Self::VERSION {
            return Err(SessionError::TooNew { path: path.to_owned(), version });
        }
        serde_json::from_slice(text).map_err(malformed)
    }

    /// Writes it as JSON. The file appears under its name only once it is whole.
    ///
    /// # Errors
    /// [`RunError::CannotWrite`] with the path and the cause.
    pub fn write(&self, path: &Path) -> Result<(), RunError> {
        let failed =
            |error: serde_json::Error| RunError::CannotWrite { path: path.to_owned(), cause: error.to_string() };
        write_bytes(path, serde_json::to_string_pretty(self).map_err(failed)? + "\n")
    }

    /// What makes its run: the edits that are on.
    pub fn recipe(&self) -> Recipe {
        let edits = self.edits.iter().filter(|saved| saved.on).map(|saved| saved.edit.clone());
        Recipe { texts: self.texts.clone().into(), masked: self.masked.clone(), edits: edits.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> Session {
        let saved = |edit: &str, on| SavedEdit { edit: edit.parse().unwrap(), on };
        Session {
            version: Session::VERSION,
            model: ModelName { name: "tiny".into(), folder: "models/tiny".into() },
            texts: Texts::pair("the cat", "猫"),
            masked: vec![2],
            edits: vec![saved("3.4=zero", true), saved("0.0=freeze@text:a\tb", false), saved("2.1=cut:4>7", true)],
            view: ViewSpec::default(),
            pinned: Some(Recipe::plain(Texts::single("a dog"))),
        }
    }

    #[test]
    fn reads_back_what_it_wrote_and_runs_what_is_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.json");
        session().write(&path).unwrap();
        assert_eq!(Session::read(&path).unwrap(), session());
        let words: Vec<String> = session().recipe().edits.iter().map(ToString::to_string).collect();
        assert_eq!(words, ["3.4=zero", "2.1=cut:4>7"]);
    }

    #[test]
    fn what_is_no_session_is_refused_in_one_sentence() {
        let read = |text: &str| Session::from_json(text.as_bytes(), Path::new("s.json")).unwrap_err().to_string();
        for (text, wanted) in [
            ("", "no session"),
            ("[1]", "no session"),
            ("{}", "missing field `version`"),
            (r#"{"version": 2, "other": 1}"#, "later version"),
            (r#"{"version": 1}"#, "missing field `model`"),
            (&serde_json::to_string(&session()).unwrap().replace("3.4=zero", "3.4=explode"), "no intervention explode"),
        ] {
            let error = read(text);
            assert!(error.contains(wanted) && !error.contains('\n'), "{text}: {error}");
        }
        assert!(Session::read(Path::new("no/such.json")).unwrap_err().to_string().contains("no/such.json"));
    }

    #[test]
    fn a_model_that_moved_is_sought_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let name = |folder: &Path| ModelName { name: "tiny".into(), folder: folder.to_owned() };
        assert_eq!(name(folder.path()).place(), folder.path());
        assert_eq!(name(Path::new("gone/for/good")).place(), Path::new("tiny"));
    }
}
