//! What the model's output does: the plain model's beside the edited one's, and the difference.

use std::path::PathBuf;
use std::sync::Arc;

use egui::{Color32, ColorImage, Rect, RichText, Sense, TextureHandle, TextureOptions, Ui, WidgetInfo, vec2};

use super::action::Action;
use super::answers;
use super::file_dialog::{Field, path_row};
use super::lang::tr;
use super::marks;
use super::ranking;
use crate::engine::{Progress, Ran};
use crate::figure::{Ground, Tint, paint, printable};
use crate::lab::NearestOutcome;
use crate::metrics::{HiddenChange, cosine, hidden_change};
use crate::run::{ColorMap, ColorScale, Run, greatest_finite};

/// The panel with what it remembers between frames.
#[derive(Default)]
pub struct Output {
    map: Option<ChangeMap>,
    /// A text file of sentences, one a line.
    pub sentences: String,
}

struct ChangeMap {
    of: Arc<Run>,
    colors: (ColorMap, Ground),
    change: HiddenChange,
    greatest: f32,
    texture: TextureHandle,
}

/// The search for the nearest sentences.
pub struct Search<'a> {
    pub running: Option<&'a Progress>,
    pub outcome: Option<&'a NearestOutcome>,
    /// The text or the edits have changed since.
    pub stale: bool,
}

const SHOWN: usize = 5;

impl Output {
    pub fn show(&mut self, ui: &mut Ui, ran: &Ran, colors: ColorMap, search: &Search<'_>, actions: &mut Vec<Action>) {
        let edited = !Arc::ptr_eq(&ran.run, &ran.plain);
        ui.horizontal_wrapped(|ui| {
            for (number, line) in lines(ran, edited).into_iter().enumerate() {
                if number > 0 {
                    ui.separator();
                }
                ui.label(line.text).on_hover_text(line.help);
            }
        });
        answers::show(ui, ran, edited, actions);
        if edited {
            self.show_map(ui, ran, colors);
        }
        if ran.run.model.is_sentence_model() {
            ui.collapsing(tr!("Nearest sentences"), |ui| self.show_search(ui, search, actions));
        }
    }

    fn show_map(&mut self, ui: &mut Ui, ran: &Ran, colors: ColorMap) {
        let ground = marks::ground(ui);
        let known =
            self.map.as_ref().is_some_and(|map| Arc::ptr_eq(&map.of, &ran.run) && map.colors == (colors, ground));
        if !known {
            self.map = hidden_change(&ran.plain, &ran.run).map(|change| {
                let greatest = greatest_finite(change.relative.iter().copied());
                let tint = Tint::new(colors, greatest.max(f32::MIN_POSITIVE), ColorScale::Linear).on(ground);
                let cells = paint(change.relative.view(), &tint, [4096; 2]);
                let image = ColorImage::from_rgb([cells.width, cells.height], &cells.rgb);
                let texture = ui.ctx().load_texture("change of the hidden state", image, TextureOptions::NEAREST);
                ChangeMap { of: ran.run.clone(), colors: (colors, ground), change, greatest, texture }
            });
        }
        let Some(map) = &self.map else { return };
        let (layers, tokens) = map.change.relative.dim();
        ui.label(tr!(
            "Change of the hidden state by layer (downwards) and token, at most %{a} of its length",
            a = format!("{:.3}", map.greatest)
        ));
        let size = vec2(ui.available_width().min(tokens as f32 * 26.0), layers as f32 * 9.0);
        let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
        ui.painter().image(
            map.texture.id(),
            rect,
            Rect::from_min_max(egui::pos2(0.0, 0.0), egui::pos2(1.0, 1.0)),
            Color32::WHITE,
        );
        response.widget_info(|| WidgetInfo::labeled(egui::Role::Image, true, tr!("Change of the hidden state")));
        if let Some(at) = response.hover_pos() {
            let share = (at - rect.min) / rect.size();
            let cell = |share: f32, count: usize| ((share * count as f32) as usize).min(count - 1);
            let (layer, token) = (cell(share.y, layers), cell(share.x, tokens));
            let place =
                if layer == 0 { tr!("entering layer 0").to_owned() } else { tr!("after layer %{a}", a = layer - 1) };
            let piece = map.of.input.tokens.get(token).map(|token| printable(token.label())).unwrap_or_default();
            response.on_hover_text_at_pointer(tr!(
                "%{piece}, %{place}: changed by %{a} of its length, cosine %{b}",
                piece = piece,
                place = place,
                a = format!("{:.4}", map.change.relative[[layer, token]]),
                b = format!("{:.4}", map.change.cosine[[layer, token]])
            ));
        }
    }

    fn show_search(&mut self, ui: &mut Ui, search: &Search<'_>, actions: &mut Vec<Action>) {
        path_row(ui, tr!("Text file, one sentence a line"), Field::Sentences, &mut self.sentences, actions);
        ui.horizontal(|ui| match search.running {
            None => {
                if ui.button(tr!("Find")).clicked() {
                    actions.push(Action::FindNearest(PathBuf::from(self.sentences.trim())));
                }
            }
            Some(progress) => ranking::running(ui, progress, actions),
        });
        let Some(outcome) = search.outcome else { return };
        if search.stale {
            ui.label(RichText::new(tr!("The text or the edits have changed since: find again.")).weak());
        }
        let before = outcome.nearest(SHOWN, |neighbour| neighbour.plain);
        let after = outcome.nearest(SHOWN, |neighbour| neighbour.edited);
        let edited = !outcome.spec.edits.is_empty();
        egui::Grid::new("nearest").num_columns(2).striped(true).show(ui, |ui| {
            ui.label(RichText::new(tr!("Plain model")).strong());
            if edited {
                ui.label(RichText::new(tr!("Edited model")).strong());
            }
            ui.end_row();
            let sentence = |at: usize| outcome.spec.sentences.get(at).map(|text| printable(text)).unwrap_or_default();
            for (before, after) in before.iter().zip(&after) {
                ui.add(egui::Label::new(format!("{:.4}  {}", before.plain, sentence(before.sentence))).truncate());
                if edited {
                    ui.add(egui::Label::new(format!("{:.4}  {}", after.edited, sentence(after.sentence))).truncate());
                }
                ui.end_row();
            }
        });
    }
}

struct Line {
    text: String,
    help: &'static str,
}

/// The numbers that there are for a text or a pair.
fn lines(ran: &Ran, edited: bool) -> Vec<Line> {
    let mut lines = Vec::new();
    const OWN: &str = "Cosine of the sentence's vector in the edited model with that in the plain one; 1 is no change";
    if let Some(cause) = &ran.run.model.pooling.unavailable {
        lines.push(Line {
            text: tr!("no similarity: %{cause}", cause = cause),
            help: tr!("The maps do not depend on it"),
        });
        return lines;
    }
    match &ran.halves {
        Some(halves) => {
            let [a, b] = halves.as_ref();
            let plain = cosine(a.plain.values.view(), b.plain.values.view());
            let now = cosine(a.edited.values.view(), b.edited.values.view());
            let text = if edited {
                tr!(
                    "similarity of A and B: %{plain} → %{now} (%{a})",
                    plain = format!("{:.4}", plain),
                    now = format!("{:.4}", now),
                    a = format!("{:+.4}", now - plain)
                )
            } else {
                tr!("similarity of A and B: %{plain}", plain = format!("{:.4}", plain))
            };
            let help = tr!(
                "Cosine of the two sentences' vectors, each from a forward of its own with the same edits; the pictures show them joined"
            );
            lines.push(Line { text, help });
            if edited {
                let own = |half: &crate::engine::Half| cosine(half.plain.values.view(), half.edited.values.view());
                let text = tr!(
                    "A with its plain vector: %{a}, B: %{b}",
                    a = format!("{:.4}", own(a)),
                    b = format!("{:.4}", own(b))
                );
                lines.push(Line { text, help: OWN });
            }
        }
        None if edited => {
            let (Some(plain), Some(now)) = (&ran.plain.embedding, &ran.run.embedding) else { return lines };
            let own = cosine(plain.values.view(), now.values.view());
            lines.push(Line {
                text: tr!("sentence vector with its plain one: %{own}", own = format!("{:.4}", own)),
                help: OWN,
            });
        }
        None if ran.run.model.is_sentence_model() => lines.push(Line {
            text: tr!("a second sentence brings similarity, an edit what it does").to_owned(),
            help: tr!("Switch a head off with Space"),
        }),
        None => {}
    }
    lines
}
