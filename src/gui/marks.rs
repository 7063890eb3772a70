//! Labels, ticks and other marks beside a picture.

use egui::{Align2, Color32, FontId, Painter, Pos2, Rect, Ui, vec2};

use super::words::Word;
use crate::figure::{Ground, NOT_FINITE, Rgb};

/// The colour of what is pinned, on maps of any colours.
pub const PIN: Color32 = Color32::from_rgb(200, 40, 140);

/// Colours of heads that are shown together: those of Okabe & Ito, which colour-blind readers tell apart.
pub const HEADS: [Color32; 8] = [
    Color32::from_rgb(0, 114, 178),
    Color32::from_rgb(213, 94, 0),
    Color32::from_rgb(0, 158, 115),
    Color32::from_rgb(204, 121, 167),
    Color32::from_rgb(230, 159, 0),
    Color32::from_rgb(86, 180, 233),
    Color32::from_rgb(120, 100, 60),
    Color32::from_rgb(110, 110, 110),
];

/// The colour of numbers that are infinite or none.
pub fn not_finite() -> Color32 {
    let [r, g, b] = NOT_FINITE;
    Color32::from_rgb(r, g, b)
}

/// A patch of that colour, with what it stands for beside it.
pub fn not_finite_legend(ui: &Ui, swatch: Rect, name: &str) {
    ui.painter().rect_filled(swatch, 0.0, not_finite());
    let (at, font) = (swatch.right_center() + vec2(4.0, 0.0), FontId::proportional(12.0));
    ui.painter().text(at, Align2::LEFT_CENTER, name, font, ui.visuals().text_color());
}

/// What maps stand on in this theme.
pub fn ground(ui: &Ui) -> Ground {
    if ui.visuals().dark_mode { Ground::Dark } else { Ground::Light }
}

/// The colour of what is pinned for letters on the window's own ground.
pub fn pin_ink(ui: &Ui) -> Color32 {
    if ui.visuals().dark_mode { Color32::from_rgb(255, 140, 210) } else { Color32::from_rgb(170, 20, 115) }
}

/// Text that reads from bottom to top, centred on a point.
pub fn upright_at(painter: &Painter, center: Pos2, text: &str, font: FontId, color: Color32) {
    let word = Word::new(painter, text, &font);
    let end = center - vec2(0.0, word.size.x / 2.0);
    word.draw_upright(painter, end, color);
}

/// A text that is cut with an ellipsis where it would be wider than `most`.
pub fn cut(painter: &Painter, text: &str, font: &FontId, most: f32) -> String {
    let width = |text: &str| painter.layout_no_wrap(text.to_owned(), font.clone(), Color32::WHITE).size().x;
    if width(text) <= most {
        return text.to_owned();
    }
    let mut kept: Vec<char> = text.chars().collect();
    while kept.len() > 1 {
        kept.pop();
        let shorter: String = kept.iter().copied().chain(['…']).collect();
        if width(&shorter) <= most {
            return shorter;
        }
    }
    kept.into_iter().collect()
}

/// The widest of some texts, in points.
pub fn widest<'a>(painter: &Painter, texts: impl Iterator<Item = &'a str>, font: &FontId) -> f32 {
    texts.map(|text| painter.layout_no_wrap(text.to_owned(), font.clone(), Color32::WHITE).size().x).fold(0.0, f32::max)
}

/// The colours of a bar, drawn as a column of `steps`, with the upper end at the top.
pub fn color_bar(painter: &Painter, rect: Rect, colors: impl Fn(f32) -> Color32) {
    let steps = (rect.height().ceil() as usize).clamp(1, 256);
    let height = rect.height() / steps as f32;
    for step in 0..steps {
        let top = rect.top() + step as f32 * height;
        // A hair of overlap, or the background shines through between two steps.
        let bottom = (top + height + 0.5).min(rect.bottom());
        let share = 1.0 - step as f32 / (steps.max(2) - 1) as f32;
        painter.rect_filled(Rect::from_x_y_ranges(rect.x_range(), top..=bottom), 0.0, colors(share));
    }
}

/// A text to the right of a point, centred on its height.
pub fn beside(painter: &Painter, at: Pos2, text: &str, font: FontId, color: Color32) {
    painter.text(at, Align2::LEFT_CENTER, text, font, color);
}

/// Black on light, white on dark, by the weights of ITU-R BT.601.
pub fn ink_on([r, g, b]: Rgb) -> Color32 {
    let light = 0.299 * f32::from(r) + 0.587 * f32::from(g) + 0.114 * f32::from(b);
    if light > 140.0 { Color32::BLACK } else { Color32::WHITE }
}
