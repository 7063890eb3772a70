//! Fonts for figures: a face for each character, and none that is read from disk twice.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use resvg::usvg;
use resvg::usvg::fontdb::{Database, FaceInfo, Family, ID, Query, Source, Style, Weight};

/// Faces that look well in a figure, best first; the last one is built in, so that a text never vanishes.
const PREFERRED: [&str; 9] = [
    "DejaVu Sans",
    "Noto Sans",
    "Liberation Sans",
    "Helvetica Neue",
    "Arial",
    "Segoe UI",
    "Cantarell",
    "Ubuntu",
    "Ubuntu Light",
];

/// Of several faces with a Chinese character, one with simplified forms is taken if these words are in its name.
const SIMPLIFIED: [&str; 5] = [" SC", " CN", "WenQuanYi", "YaHei", "Droid Sans Fallback"];

struct Fonts {
    database: Arc<Database>,
    /// The face that draws a character, once it has been looked for.
    chosen: HashMap<char, Option<ID>>,
    /// Font files in memory. usvg maps a file anew for each glyph, which is slow.
    in_memory: HashMap<PathBuf, Vec<ID>>,
    /// The face for all that it covers.
    main: Option<ID>,
}

fn with_fonts<T>(act: impl FnOnce(&mut Fonts) -> T) -> T {
    static FONTS: OnceLock<Mutex<Fonts>> = OnceLock::new();
    let fonts = FONTS.get_or_init(|| Mutex::new(Fonts::load()));
    // The database stays usable whatever happened to another thread.
    act(&mut fonts.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Fonts {
    fn load() -> Self {
        let mut database = Database::new();
        database.load_system_fonts();
        database.load_font_data(epaint_default_fonts::UBUNTU_LIGHT.to_vec());
        database.load_font_data(epaint_default_fonts::NOTO_EMOJI_REGULAR.to_vec());
        let find = |name: &str| database.query(&Query { families: &[Family::Name(name)], ..Query::default() });
        let found = PREFERRED.into_iter().find_map(|name| Some((name, find(name)?)));
        let mut fonts =
            Self { database: Arc::new(database), chosen: HashMap::new(), in_memory: HashMap::new(), main: None };
        if let Some((family, face)) = found {
            fonts.main = Some(fonts.bring_to_memory(face));
            let database = Arc::make_mut(&mut fonts.database);
            database.remove_face(face); // its twin in memory answers from now on
            database.set_sans_serif_family(family);
            database.set_serif_family(family);
            database.set_monospace_family(family);
        }
        fonts
    }

    fn face_for(&mut self, c: char) -> Option<ID> {
        if let Some(known) = self.chosen.get(&c) {
            return *known;
        }
        let loaded = self.main.into_iter().chain(self.in_memory.values().flatten().copied());
        let loaded: Vec<ID> = loaded.filter(|&face| self.covers(face, c)).collect();
        let face = self.best(loaded, c).or_else(|| {
            let covering = self.database.faces().filter(|face| is_upright(face)).map(|face| face.id);
            let covering: Vec<ID> = covering.filter(|&face| self.covers(face, c)).collect();
            self.best(covering, c).map(|face| self.bring_to_memory(face))
        });
        self.chosen.insert(c, face);
        face
    }

    fn covers(&self, face: ID, c: char) -> bool {
        let has = |data: &[u8], index| ttf_parser::Face::parse(data, index).is_ok_and(|f| f.glyph_index(c).is_some());
        self.database.with_face_data(face, has) == Some(true)
    }

    fn best(&self, faces: Vec<ID>, c: char) -> Option<ID> {
        let simplified = |face: &&ID| {
            let names = self.database.face(**face).map(|info| info.families.as_slice()).unwrap_or_default();
            names.iter().any(|(name, _)| SIMPLIFIED.iter().any(|word| name.contains(word)))
        };
        let chinese = ('\u{2e80}'..='\u{9fff}').contains(&c) || c >= '\u{20000}';
        let preferred = faces.iter().find(simplified).filter(|_| chinese);
        preferred.or(faces.first()).copied()
    }

    /// The same face, read whole from its file; the face as it was where that fails.
    fn bring_to_memory(&mut self, face: ID) -> ID {
        let Some(FaceInfo { source: Source::File(path), index, .. }) = self.database.face(face) else { return face };
        let (path, index) = (path.clone(), *index as usize);
        if !self.in_memory.contains_key(&path) {
            let Ok(bytes) = std::fs::read(&path) else { return face };
            let faces = Arc::make_mut(&mut self.database).load_font_source(Source::Binary(Arc::new(bytes)));
            self.in_memory.insert(path.clone(), faces.to_vec());
        }
        self.in_memory.get(&path).and_then(|faces| faces.get(index)).copied().unwrap_or(face)
    }
}

fn is_upright(face: &FaceInfo) -> bool {
    face.style == Style::Normal && face.weight == Weight::NORMAL
}

/// The text with what no font on this machine can draw replaced by a box, so that the rest of it is shaped well.
pub(super) fn drawable(text: &str) -> String {
    with_fonts(|fonts| {
        let mut previous = '\0';
        text.chars()
            .filter_map(|c| {
                let after_emoji = previous >= '\u{1f000}' || ('\u{2600}'..='\u{27bf}').contains(&previous);
                previous = c;
                match c {
                    // Glue between emoji would make one glyph of several, which usvg cannot mix with other fonts.
                    '\u{fe0e}' | '\u{fe0f}' => None,
                    '\u{200d}' if after_emoji => None,
                    // Shapes its neighbours and has no shape of its own.
                    '\u{200b}'..='\u{200f}' => Some(c),
                    _ if fonts.face_for(c).is_some() => Some(c),
                    _ => Some('\u{25a1}'),
                }
            })
            .collect()
    })
}

pub(super) fn options() -> usvg::Options<'static> {
    let select_fallback: usvg::FallbackSelectionFn<'static> =
        Box::new(|c, used, _| with_fonts(|fonts| fonts.face_for(c)).filter(|face| !used.contains(face)));
    usvg::Options {
        fontdb: with_fonts(|fonts| fonts.database.clone()),
        font_family: "sans-serif".into(),
        font_resolver: usvg::FontResolver { select_font: usvg::FontResolver::default_font_selector(), select_fallback },
        ..usvg::Options::default()
    }
}
