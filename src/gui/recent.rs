//! The models and the texts that were opened last, kept from one opening of the window to the next.

use std::path::{Path, PathBuf};

use eframe::Storage;

use crate::run::Texts;

/// How many are kept: those in the model folders are in the menu anyway.
const MOST: usize = 8;
const KEY: &str = "recent models";

/// Folders of models, or files of weights in them, the latest first.
#[derive(Debug, Clone, Default)]
pub(super) struct RecentModels(Vec<String>);

impl RecentModels {
    /// Those that were kept; none where nothing was, or what was kept cannot be read.
    pub fn kept(storage: Option<&dyn Storage>) -> Self {
        Self(storage.and_then(|storage| eframe::get_value(storage, KEY)).unwrap_or_default())
    }

    pub fn keep(&self, storage: &mut dyn Storage) {
        eframe::set_value(storage, KEY, &self.0);
    }

    /// A model has been opened.
    pub fn add(&mut self, place: &Path) {
        // The next window may be opened from another folder.
        let place = std::path::absolute(place).unwrap_or_else(|_| place.to_owned());
        let Some(place) = place.to_str() else { return };
        self.0.retain(|other| other != place);
        self.0.insert(0, place.to_owned());
        self.0.truncate(MOST);
    }

    /// Those that are not in a list and still there, with what their folder is called.
    pub fn beside(&self, listed: &[(String, PathBuf)]) -> Vec<(String, PathBuf)> {
        let places = self.0.iter().map(PathBuf::from);
        let other = |place: &PathBuf| listed.iter().all(|(_, folder)| folder != place) && place.exists();
        places.filter(other).map(|place| (name_of(&place), place)).collect()
    }
}

const TEXTS: &str = "recent texts";
/// How many texts are kept, and how long they may be, in bytes.
const MOST_TEXTS: usize = 10;
const LONGEST: usize = 2000;

/// The texts that were looked at, the latest first.
#[derive(Debug, Clone, Default)]
pub(super) struct RecentTexts(Vec<Texts>);

impl RecentTexts {
    /// Those that were kept.
    pub fn kept(storage: Option<&dyn Storage>) -> Self {
        Self(storage.and_then(|storage| eframe::get_value(storage, TEXTS)).unwrap_or_default())
    }

    pub fn keep(&self, storage: &mut dyn Storage) {
        eframe::set_value(storage, TEXTS, &self.0);
    }

    /// A text was left for another one.
    pub fn add(&mut self, texts: Texts) {
        let length = texts.a.len() + texts.b.as_ref().map_or(0, String::len);
        // A letter or two are the beginning of something else.
        if !(3..LONGEST).contains(&length) {
            return;
        }
        self.0.retain(|other| *other != texts);
        self.0.insert(0, texts);
        self.0.truncate(MOST_TEXTS);
    }

    pub fn iter(&self) -> impl Iterator<Item = &Texts> {
        self.0.iter()
    }
}

/// What a reader calls a model: its folder's name, with the file of weights where one was chosen.
pub(super) fn name_of(place: &Path) -> String {
    let last = |path: &Path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    match place.parent().filter(|_| place.is_file()) {
        Some(folder) => format!("{}/{}", last(folder), last(place)),
        None => last(place),
    }
}
