use std::path::Path;

use resvg::{tiny_skia, usvg};

use super::fonts::{self, drawable};
use super::panel::Plot;
use super::{FigureError, printable};
use crate::run::write_bytes;

/// A drawn figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Svg {
    /// The document, with cells for the size that it names.
    text: String,
    /// The document without cells, and the cells.
    bare: String,
    plots: Vec<Plot>,
}

/// The kinds of file that a figure can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    Png,
    Svg,
}

impl FileKind {
    /// The kind that a path's ending names.
    ///
    /// # Errors
    /// [`FigureError::UnknownKind`], which says what endings there are.
    pub fn of(path: &Path) -> Result<Self, FigureError> {
        match path.extension().unwrap_or_default().to_string_lossy().to_lowercase().as_str() {
            "png" => Ok(Self::Png),
            "svg" => Ok(Self::Svg),
            _ => Err(FigureError::UnknownKind(path.to_owned())),
        }
    }
}

/// A figure as an encoded PNG file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Png {
    /// The file's bytes.
    pub bytes: Vec<u8>,
}

/// A figure as pixels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pixels {
    pub width: usize,
    pub height: usize,
    /// RGBA, row by row from the top, opaque.
    pub rgba: Vec<u8>,
}

impl Svg {
    /// A document that is the same at any size.
    pub(super) fn plain(text: String) -> Self {
        Self { text, bare: String::new(), plots: Vec::new() }
    }

    /// Adds elements on top.
    pub(super) fn append(&mut self, elements: &str) {
        let end = self.text.rfind("</svg>").unwrap_or(self.text.len());
        self.text.insert_str(end, elements);
    }

    /// Adds cells on top, which are painted for the size at which the document is drawn.
    pub(super) fn with_plots(mut self, plots: Vec<Plot>) -> Result<Self, FigureError> {
        self.bare = self.text.clone();
        self.plots = plots;
        self.text = self.at(1.0)?.text;
        Ok(self)
    }

    /// The SVG document.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The document with cells for so many pixels a unit.
    fn at(&self, scale: f32) -> Result<Self, FigureError> {
        let mut drawn = Self::plain(self.bare.clone());
        for plot in &self.plots {
            drawn.append(&plot.image(scale)?);
        }
        Ok(drawn)
    }

    /// Draws the figure with `scale` pixels for each of its units (a hundredth of an inch).
    ///
    /// # Errors
    /// [`FigureError::Render`] if the document cannot be read back or the picture would be too large.
    pub fn to_pixels(&self, scale: f32) -> Result<Pixels, FigureError> {
        let pixmap = self.rasterize(scale)?;
        let (width, height) = (pixmap.width() as usize, pixmap.height() as usize);
        Ok(Pixels { width, height, rgba: pixmap.take() })
    }

    /// Draws the figure as a PNG file; `scale` as in [`to_pixels`](Self::to_pixels).
    ///
    /// # Errors
    /// As [`to_pixels`](Self::to_pixels).
    pub fn to_png(&self, scale: f32) -> Result<Png, FigureError> {
        let bytes = self.rasterize(scale)?.encode_png().map_err(|error| FigureError::Render(error.to_string()))?;
        Ok(Png { bytes })
    }

    /// Writes the figure as a file of this kind; `scale` as in [`to_pixels`](Self::to_pixels), for pixels alone.
    ///
    /// # Errors
    /// [`FigureError::Run`] if the file cannot be written; else as [`to_pixels`](Self::to_pixels).
    pub fn write(&self, path: &Path, kind: FileKind, scale: f32) -> Result<(), FigureError> {
        match kind {
            FileKind::Png => write_bytes(path, self.to_png(scale)?.bytes)?,
            FileKind::Svg => write_bytes(path, &self.text)?,
        }
        Ok(())
    }

    fn rasterize(&self, scale: f32) -> Result<tiny_skia::Pixmap, FigureError> {
        let sized = if self.plots.is_empty() { None } else { Some(self.at(scale)?) };
        let text = sized.as_ref().map_or(self.as_str(), Svg::as_str);
        let tree =
            usvg::Tree::from_str(text, &fonts::options()).map_err(|error| FigureError::Render(error.to_string()))?;
        let size = tree.size().to_int_size().scale_by(scale);
        let size = size.ok_or_else(|| FigureError::Render(format!("a scale of {scale} leaves no picture")))?;
        let mut pixmap = tiny_skia::Pixmap::new(size.width(), size.height())
            .ok_or_else(|| FigureError::Render(format!("{} × {} pixels are too many", size.width(), size.height())))?;
        pixmap.fill(tiny_skia::Color::WHITE);
        resvg::render(&tree, tiny_skia::Transform::from_scale(scale, scale), &mut pixmap.as_mut());
        Ok(pixmap)
    }
}

/// A word alone, white on nothing, in a sans-serif face of so many pixels: RGBA, multiplied by its alpha.
///
/// # Errors
/// [`FigureError::Render`] if no font has its letters.
pub fn word_picture(text: &str, size: f32) -> Result<Pixels, FigureError> {
    let failed = |error: usvg::Error| FigureError::Render(error.to_string());
    let text = escape(&drawable(&printable(text)));
    let document = |width: f32| {
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"><text id="w" x="0" y="{base}" font-family="sans-serif" font-size="{size}" fill="white">{text}</text></svg>"#,
            height = (size * 1.35).ceil(),
            base = size,
        )
    };
    let measured = usvg::Tree::from_str(&document(10.0), &fonts::options()).map_err(failed)?;
    let bounds = measured.node_by_id("w").map(|node| node.abs_bounding_box());
    let bounds = bounds.ok_or_else(|| FigureError::Render("no font has its letters".into()))?;
    let tree = usvg::Tree::from_str(&document(bounds.width().ceil().max(1.0)), &fonts::options()).map_err(failed)?;
    let size = tree.size().to_int_size();
    let mut pixmap = tiny_skia::Pixmap::new(size.width(), size.height())
        .ok_or_else(|| FigureError::Render("the word is too long".into()))?;
    // A text that runs leftward may begin left of its own x.
    resvg::render(&tree, tiny_skia::Transform::from_translate(-bounds.x(), 0.0), &mut pixmap.as_mut());
    let (width, height) = (pixmap.width() as usize, pixmap.height() as usize);
    Ok(Pixels { width, height, rgba: pixmap.take() })
}

/// The width of each text in a sans-serif face of so many pixels, as it will be shaped.
pub(super) fn text_widths(texts: &[String], size: f32) -> Result<Vec<f32>, FigureError> {
    use std::fmt::Write;
    let mut document = String::from(r#"<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10">"#);
    for (number, text) in texts.iter().enumerate() {
        let text = escape(text);
        write!(document, r#"<text id="t{number}" font-family="sans-serif" font-size="{size}">{text}</text>"#)
            .map_err(|error| FigureError::Draw(error.to_string()))?;
    }
    document.push_str("</svg>");
    let tree =
        usvg::Tree::from_str(&document, &fonts::options()).map_err(|error| FigureError::Draw(error.to_string()))?;
    let width = |number: usize| tree.node_by_id(&format!("t{number}")).map_or(0.0, |node| node.bounding_box().width());
    Ok((0..texts.len()).map(width).collect())
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
