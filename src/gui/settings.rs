//! What is kept from one opening of the window to the next, beside its size and theme, which the toolkit keeps.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use eframe::Storage;
use egui_tiles::Tree;
use serde::{Deserialize, Serialize};

use super::lang::Language;
use super::panes::{self, Pane};
use crate::run::{ColorMap, ColorScale, MapRange, Reading, Segments, ViewSpec};

const LAYOUT: &str = "layout";
const LOOK: &str = "look";
const LANGUAGE: &str = "language";

/// How maps are looked at, whatever the text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Look {
    reading: Reading,
    colors: ColorMap,
    scale: ColorScale,
    range: MapRange,
}

/// The places of views as they were left; the usual ones where nothing was kept, or by another version.
pub fn kept_layout(storage: Option<&dyn Storage>) -> Tree<Pane> {
    let kept = storage.and_then(|storage| eframe::get_value(storage, LAYOUT));
    kept.filter(panes::is_whole).unwrap_or_else(panes::default_layout)
}

/// How maps were looked at last.
pub fn kept_view(storage: Option<&dyn Storage>) -> ViewSpec {
    let Look { reading, colors, scale, range } =
        storage.and_then(|storage| eframe::get_value(storage, LOOK)).unwrap_or_default();
    ViewSpec { reading, colors, scale, range, ..ViewSpec::default() }
}

/// The language that was chosen.
pub fn kept_language(storage: Option<&dyn Storage>) -> Language {
    storage.and_then(|storage| eframe::get_value(storage, LANGUAGE)).unwrap_or_default()
}

pub fn keep(storage: &mut dyn Storage, layout: &Tree<Pane>, view: &ViewSpec, language: Language) {
    eframe::set_value(storage, LANGUAGE, &language);
    eframe::set_value(storage, LAYOUT, layout);
    // Segments are those of one pair.
    let reading = Reading { segments: Segments::All, ..view.reading };
    let look = Look { reading, colors: view.colors, scale: view.scale, range: view.range };
    eframe::set_value(storage, LOOK, &look);
}

/// Renames a settings file that cannot be read, since the next one would be written over it; gives its new name.
pub fn put_aside_if_broken(file: &Path) -> Option<PathBuf> {
    // A pipe would be waited for.
    let bytes = std::fs::metadata(file).is_ok_and(|there| there.is_file()).then(|| std::fs::read(file).ok())??;
    let readable = std::str::from_utf8(&bytes).is_ok_and(|text| ron::from_str::<HashMap<String, String>>(text).is_ok());
    if readable {
        return None;
    }
    let aside = file.with_extension("ron.broken");
    std::fs::rename(file, &aside).ok()?;
    Some(aside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_cannot_be_read_are_kept_aside() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("app.ron");
        assert_eq!(put_aside_if_broken(&file), None, "there is none");
        std::fs::write(&file, r#"{"layout": "()"}"#).unwrap();
        assert_eq!(put_aside_if_broken(&file), None);
        for broken in [&b"{\"layout"[..], b"\xff\xfe", b"[1, 2]"] {
            std::fs::write(&file, broken).unwrap();
            let aside = put_aside_if_broken(&file).unwrap();
            assert_eq!(std::fs::read(aside).unwrap(), broken);
            assert!(!file.exists());
        }
    }
}
