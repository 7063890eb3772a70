//! Words on the screen, in every script. The toolkit lays letters out from left to right alone: words of scripts that run
//! the other way are drawn as pictures, as figures draw them.

use std::collections::HashMap;
use std::sync::Arc;

use egui::epaint::{Mesh, TextShape, Vertex};
use egui::{
    Align2, Color32, ColorImage, FontId, Galley, Id, Painter, Pos2, Rect, Shape, TextureHandle, TextureOptions, Vec2,
    pos2, vec2,
};

use crate::figure::word_picture;

/// A word that is ready to be drawn.
pub struct Word {
    pub size: Vec2,
    drawn: Drawn,
}

enum Drawn {
    Letters(Arc<Galley>),
    /// White on nothing, so that it takes any colour.
    Picture(TextureHandle),
}

/// Whether a text runs from right to left: its first letter that has a direction tells.
pub fn runs_leftward(text: &str) -> bool {
    let first = text.chars().find(|c| is_leftward(*c) || c.is_alphabetic());
    first.is_some_and(is_leftward)
}

/// Letters of Hebrew, Arabic and their kin.
fn is_leftward(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}'
        | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

impl Word {
    pub fn new(painter: &Painter, text: &str, font: &FontId) -> Self {
        if text.chars().any(is_leftward)
            && let Some(texture) = picture(painter, text, font.size)
        {
            let size = texture.size_vec2() / painter.pixels_per_point();
            return Self { size, drawn: Drawn::Picture(texture) };
        }
        let galley = painter.layout_no_wrap(text.to_owned(), font.clone(), Color32::PLACEHOLDER);
        Self { size: galley.size(), drawn: Drawn::Letters(galley) }
    }

    /// Draws it, `at` being the point that `align` names.
    pub fn draw(self, painter: &Painter, at: Pos2, align: Align2, color: Color32) {
        let rect = align.anchor_size(at, self.size);
        match self.drawn {
            Drawn::Letters(galley) => painter.galley(rect.min, galley, color),
            Drawn::Picture(texture) => {
                painter.image(texture.id(), rect, Rect::from_min_max(Pos2::ZERO, pos2(1.0, 1.0)), color);
            }
        }
    }

    /// Draws it turned by a quarter to the left, so that it reads from bottom to top; its end is at `end` and its middle on
    /// that point's x.
    pub fn draw_upright(self, painter: &Painter, end: Pos2, color: Color32) {
        match self.drawn {
            Drawn::Letters(galley) => {
                // Turned, a galley extends upwards from its position and rightwards by its height.
                let start = end + vec2(-self.size.y / 2.0, self.size.x);
                painter.add(TextShape::new(start, galley, color).with_angle(-std::f32::consts::FRAC_PI_2));
            }
            Drawn::Picture(texture) => {
                let rect = Rect::from_min_size(end - vec2(self.size.y / 2.0, 0.0), vec2(self.size.y, self.size.x));
                let mut mesh = Mesh::with_texture(texture.id());
                let corners = [
                    (rect.left_bottom(), pos2(0.0, 0.0)),
                    (rect.left_top(), pos2(1.0, 0.0)),
                    (rect.right_top(), pos2(1.0, 1.0)),
                    (rect.right_bottom(), pos2(0.0, 1.0)),
                ];
                mesh.vertices.extend(corners.map(|(pos, uv)| Vertex { pos, uv, color }));
                mesh.indices.extend([0, 1, 2, 0, 2, 3]);
                painter.add(Shape::mesh(mesh));
            }
        }
    }
}

/// Pictures of words, kept from frame to frame.
#[derive(Clone, Default)]
struct Pictures(HashMap<(String, u32), Option<TextureHandle>>);

/// More words than these are not kept.
const MOST: usize = 2000;

fn picture(painter: &Painter, text: &str, size: f32) -> Option<TextureHandle> {
    let (ctx, scale) = (painter.ctx(), painter.pixels_per_point());
    let key = (text.to_owned(), (size * scale).round() as u32);
    let kept = ctx.data_mut(|data| data.get_temp_mut_or_default::<Pictures>(Id::NULL).0.get(&key).cloned());
    if let Some(kept) = kept {
        return kept;
    }
    let made = word_picture(text, size * scale).ok().map(|pixels| {
        let image = ColorImage::from_rgba_premultiplied([pixels.width, pixels.height], &pixels.rgba);
        ctx.load_texture("word", image, TextureOptions::LINEAR)
    });
    ctx.data_mut(|data| {
        let pictures = data.get_temp_mut_or_default::<Pictures>(Id::NULL);
        if pictures.0.len() >= MOST {
            pictures.0.clear();
        }
        pictures.0.insert(key, made.clone());
    });
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_letter_tells_the_direction() {
        assert!(runs_leftward("שלום world") && runs_leftward("(مرحبا)"));
        assert!(!runs_leftward("world שלום") && !runs_leftward("123") && !runs_leftward("你好"));
    }
}
