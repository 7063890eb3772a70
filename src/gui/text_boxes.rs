//! Where the reader types one sentence or a pair.

use egui::{Event, FontId, ImeEvent, TextEdit, Ui};

use super::marks::widest;
use crate::run::Texts;

#[derive(Debug, Default)]
pub struct TextBoxes {
    pub a: String,
    pub b: String,
    /// An input method shows syllables that are not chosen yet.
    composing: bool,
}

impl TextBoxes {
    pub fn new(texts: Texts) -> Self {
        Self { a: texts.a, b: texts.b.unwrap_or_default(), composing: false }
    }

    /// What is typed, unless an input method is in the middle of a word.
    pub fn settled(&self) -> Option<Texts> {
        let b = (!self.b.is_empty()).then(|| self.b.clone());
        (!self.composing).then(|| Texts { a: self.a.clone(), b })
    }

    pub fn show(&mut self, ui: &mut Ui) {
        let (first, second) = ("Sentence", "Second sentence");
        let font = FontId::proportional(14.0);
        let column = widest(ui.painter(), [first, second].into_iter(), &font) + 8.0;
        field(ui, first, "type here, and every head's attention follows", &mut self.a, column);
        field(ui, second, "optional: makes a pair", &mut self.b, column);
        self.watch_input_method(ui);
    }

    fn watch_input_method(&mut self, ui: &Ui) {
        ui.input(|input| {
            for event in &input.events {
                match event {
                    Event::Ime(ImeEvent::Preedit { text, .. }) => self.composing = !text.is_empty(),
                    Event::Ime(ImeEvent::Commit(_)) => self.composing = false,
                    _ => {}
                }
            }
        });
    }
}

fn field(ui: &mut Ui, name: &str, hint: &str, text: &mut String, column: f32) {
    ui.horizontal(|ui| {
        let start = ui.cursor().left();
        let label = ui.label(name);
        ui.add_space((start + column - ui.cursor().left()).max(0.0));
        ui.add(TextEdit::singleline(text).hint_text(hint).desired_width(f32::INFINITY)).labelled_by(label.id);
    });
}
