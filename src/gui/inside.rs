//! How one cell came to be: query and key by dimension, the score, the softmax over the row, and what the value adds.

use std::sync::Arc;

use egui::{
    Align2, Color32, FontId, Rect, RichText, ScrollArea, Sense, Stroke, StrokeKind, Ui, WidgetInfo, pos2, vec2,
};

use super::action::Action;
use super::lang::tr;
use super::marks;
use super::pins::Pin;
use super::words::Word;
use crate::figure::{Tint, unit_label};
use crate::lab::{CellOrigin, Inside};
use crate::run::{ColorScale, HeadId, Run, greatest_finite};

/// The view with what it remembers between frames.
pub struct InsideView {
    /// Scores are divided by √d, as the model does.
    divides: bool,
}

impl Default for InsideView {
    fn default() -> Self {
        Self { divides: true }
    }
}

/// What is known.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    pub run: &'a Arc<Run>,
    pub head: HeadId,
    pub held: Option<&'a Pin>,
    pub origin: Option<&'a CellOrigin>,
    pub trouble: Option<&'a str>,
    /// Something is done to what this head hands on.
    pub edited: bool,
}

impl InsideView {
    pub fn show(&mut self, ui: &mut Ui, known: Known<'_>, actions: &mut Vec<Action>) {
        let Some(Pin::Cell(query, key)) = known.held else {
            ui.label(tr!("Click a cell of the map: this view then shows, step by step, how its weight came to be."));
            return;
        };
        let (query, key) = (query.start, key.start);
        let spec = Inside { recipe: known.run.recipe(), head: known.head, query, key };
        let label = |token: usize| unit_label(&known.run.input, &(token..token + 1));
        ui.horizontal_wrapped(|ui| {
            ui.label(
                RichText::new(tr!(
                    "“%{a}” → “%{b}” in layer %{c}, head %{d}",
                    a = label(query),
                    b = label(key),
                    c = known.head.layer,
                    d = known.head.head
                ))
                .strong(),
            );
            ui.label(RichText::new(tr!("the query attends to the key")).weak());
        });
        let Some(origin) = known.origin.filter(|origin| origin.spec == spec) else {
            match known.trouble {
                Some(trouble) => ui.colored_label(ui.visuals().error_fg_color, trouble),
                None => ui.label(tr!("working it out…")),
            };
            actions.push(Action::LookInside(spec));
            return;
        };
        ScrollArea::vertical().id_salt("inside").auto_shrink([false, false]).show(ui, |ui| {
            self.show_product(ui, origin, &label(query), &label(key));
            ui.add_space(8.0);
            self.show_row(ui, known.run, origin, actions);
            if known.edited {
                ui.label(tr!("What this head hands on is edited: the lengths are those before that."));
            }
        });
    }

    /// Query, key and their product by dimension, and the score.
    fn show_product(&mut self, ui: &mut Ui, origin: &CellOrigin, query: &str, key: &str) {
        let key_at = origin.spec.key;
        let (product, divisor) = (origin.products[key_at], origin.divisor());
        let by_dimension = origin.by_dimension();
        ui.label(RichText::new(tr!(
            "1. Each token gives a vector of %{a} numbers; they are multiplied by dimension and added up",
            a = by_dimension.len()
        )));
        strip(ui, &tr!("q, of “%{query}”", query = query), &origin.query);
        strip(ui, &tr!("k, of “%{key}”", key = key), &origin.key);
        strip(ui, "q × k", &by_dimension);
        let beside = origin.beside(key_at);
        ui.horizontal_wrapped(|ui| {
            ui.label(format!("q · k = {product:.3}"));
            let help = tr!(
                "√%{a} = %{divisor}: without it, scores are so large that one token takes nearly all weight",
                a = by_dimension.len(),
                divisor = format!("{:.3}", divisor)
            );
            ui.checkbox(&mut self.divides, format!("÷ √{} = {:.3}", by_dimension.len(), product / divisor))
                .on_hover_text(help);
            if beside.is_infinite() {
                ui.label(tr!("this edge is cut: it gets no weight"));
            } else if beside.abs() > 1e-4 {
                ui.label(tr!("%{beside} for the places of the tokens", beside = format!("{:+.3}", beside)));
            }
            let score = if self.divides { origin.scores[key_at] } else { product + beside };
            ui.label(RichText::new(tr!("score %{score}", score = format!("{:.3}", score))).strong());
        });
    }

    /// The softmax over the row, and what each value adds.
    fn show_row(&self, ui: &mut Ui, run: &Run, origin: &CellOrigin, actions: &mut Vec<Action>) {
        let undivided = (!self.divides).then(|| origin.undivided());
        let weights = undivided.as_ref().unwrap_or(&origin.weights);
        let key_at = origin.spec.key;
        let sum: f32 = origin.weights.iter().sum();
        ui.label(tr!(
            "2. The softmax turns the row's scores into weights that add up to %{sum}",
            sum = format!("{:.2}", sum)
        ));
        ui.label(tr!("3. Each token's value, times its weight and through W_O, is added to the query's hidden state: in all a vector of length %{a}", a = format!("{:.3}", origin.total)));
        if undivided.is_some() {
            ui.label(
                RichText::new(tr!("Weights without the division by √d; the frame shows the model's own")).strong(),
            );
        }
        strip(ui, tr!("v, the key's value"), &origin.value);
        let most = origin.added.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
        let width = ((ui.available_width() - 250.0) / 2.0).clamp(60.0, 260.0);
        head_line(ui, width);
        for (at, weight) in weights.iter().enumerate() {
            let own = at == key_at;
            let (rect, response) =
                ui.allocate_exact_size(vec2(ui.available_width().min(250.0 + 2.0 * width), 18.0), Sense::click());
            let label = unit_label(&run.input, &(at..at + 1));
            let name = tr!(
                "%{label}: score %{a}, weight %{weight}, adds %{b}",
                label = label,
                a = format!("{:.3}", origin.scores[at]),
                weight = format!("{:.4}", weight),
                b = format!("{:.4}", origin.added[at])
            );
            response.widget_info(|| WidgetInfo::selected(egui::Role::Button, true, own, &name));
            if ui.is_rect_visible(rect) {
                let ink = if own { marks::pin_ink(ui) } else { ui.visuals().text_color() };
                let font = FontId::proportional(13.0);
                let shown = marks::cut(ui.painter(), &label, &font, 86.0);
                Word::new(ui.painter(), &shown, &font).draw(
                    ui.painter(),
                    rect.left_center() + vec2(90.0, 0.0),
                    Align2::RIGHT_CENTER,
                    ink,
                );
                let number = |x: f32, value: String| {
                    ui.painter().text(
                        pos2(rect.left() + x, rect.center().y),
                        Align2::LEFT_CENTER,
                        value,
                        font.clone(),
                        ink,
                    );
                };
                bar(ui, rect, 98.0, width, *weight, marks::HEADS[0]);
                if undivided.is_some() {
                    let frame = Rect::from_min_size(
                        pos2(rect.left() + 98.0, rect.top() + 2.0),
                        vec2(width * origin.weights[at].min(1.0), 14.0),
                    );
                    ui.painter().rect_stroke(
                        frame,
                        0.0,
                        Stroke::new(1.0, ui.visuals().text_color()),
                        StrokeKind::Inside,
                    );
                }
                number(98.0 + width + 4.0, format!("{weight:.4}"));
                bar(ui, rect, 98.0 + width + 64.0, width, origin.added[at] / most, marks::HEADS[2]);
                number(98.0 + 2.0 * width + 68.0, format!("{:.4}", origin.added[at]));
            }
            if response.clicked() {
                actions.push(Action::PinToken(Pin::Cell(origin.spec.query..origin.spec.query + 1, at..at + 1)));
            }
            response.on_hover_text(name);
        }
    }
}

fn head_line(ui: &mut Ui, width: f32) {
    let (rect, _) = ui.allocate_exact_size(vec2(250.0 + 2.0 * width, 16.0), Sense::hover());
    let quiet = ui.visuals().weak_text_color();
    for (x, text) in [(98.0, tr!("weight")), (98.0 + width + 64.0, tr!("length that it adds: ‖weight × v × W_O‖"))]
    {
        let at = pos2(rect.left() + x, rect.center().y);
        ui.painter().text(at, Align2::LEFT_CENTER, text, FontId::proportional(12.0), quiet);
    }
}

fn bar(ui: &Ui, row: Rect, x: f32, width: f32, share: f32, color: Color32) {
    let place = Rect::from_min_size(pos2(row.left() + x, row.top() + 3.0), vec2(width, 12.0));
    ui.painter().rect_filled(place, 2.0, ui.visuals().faint_bg_color);
    let filled = Rect::from_min_size(place.min, vec2(width * share.clamp(0.0, 1.0), 12.0));
    ui.painter().rect_filled(filled, 2.0, color);
}

/// A vector as a strip of colours, blue below 0 and red above.
fn strip(ui: &mut Ui, name: &str, values: &[f32]) {
    let most = greatest_finite(values.iter().map(|value| value.abs())).max(1e-6);
    let tint = Tint::signed(most, ColorScale::Linear).on(marks::ground(ui));
    ui.horizontal(|ui| {
        let font = FontId::proportional(13.0);
        let (title, _) = ui.allocate_exact_size(vec2(130.0, 20.0), Sense::hover());
        let shown = marks::cut(ui.painter(), name, &font, 126.0);
        Word::new(ui.painter(), &shown, &font).draw(
            ui.painter(),
            title.left_center(),
            Align2::LEFT_CENTER,
            ui.visuals().text_color(),
        );
        let cell = ((ui.available_width() - 90.0) / values.len().max(1) as f32).clamp(2.0, 16.0);
        let (rect, response) = ui.allocate_exact_size(vec2(cell * values.len() as f32, 18.0), Sense::hover());
        response.widget_info(|| WidgetInfo::labeled(egui::Role::Image, true, name));
        for (at, value) in values.iter().enumerate() {
            let [r, g, b] = tint.at(0, *value);
            let place = Rect::from_min_size(rect.min + vec2(at as f32 * cell, 0.0), vec2(cell + 0.5, rect.height()));
            ui.painter().rect_filled(place.intersect(rect), 0.0, Color32::from_rgb(r, g, b));
        }
        ui.painter().rect_stroke(rect, 0.0, Stroke::new(1.0, ui.visuals().weak_text_color()), StrokeKind::Outside);
        if let Some(at) = response.hover_pos().map(|pointer| ((pointer.x - rect.left()) / cell) as usize)
            && let Some(value) = values.get(at)
        {
            response.on_hover_text_at_pointer(tr!(
                "dimension %{at}: %{value}",
                at = at,
                value = format!("{:+.4}", value)
            ));
        }
        ui.label(RichText::new(format!("±{most:.2}")).weak());
    });
}
