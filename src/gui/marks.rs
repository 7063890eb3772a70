//! Labels, ticks and other marks beside a picture.

use egui::epaint::TextShape;
use egui::{Align2, Color32, FontId, Painter, Pos2, Rect, vec2};

/// Text that reads from bottom to top, its end at `end` and centred on that point's x.
pub fn upright_to(painter: &Painter, end: Pos2, text: &str, font: FontId, color: Color32) {
    let galley = painter.layout_no_wrap(text.to_owned(), font, color);
    // Turned by a quarter to the left, a galley extends upwards from its position and rightwards by its height.
    let start = end + vec2(-galley.size().y / 2.0, galley.size().x);
    painter.add(TextShape::new(start, galley, color).with_angle(-std::f32::consts::FRAC_PI_2));
}

/// Text that reads from bottom to top, centred on a point.
pub fn upright_at(painter: &Painter, center: Pos2, text: &str, font: FontId, color: Color32) {
    let width = painter.layout_no_wrap(text.to_owned(), font.clone(), color).size().x;
    upright_to(painter, center - vec2(0.0, width / 2.0), text, font, color);
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
