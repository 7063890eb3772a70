//! Where the reader types one sentence or a pair.

use egui::{ComboBox, Event, FontId, ImeEvent, Sides, TextEdit, Ui};

use super::lang::tr;
use super::marks::widest;
use crate::run::{Prefix, Texts};

#[derive(Debug, Default)]
pub struct TextBoxes {
    pub a: String,
    pub b: String,
    /// What each text begins with, as the model wants it for some use.
    prefixes: [Option<Prefix>; 2],
    /// An input method shows syllables that are not chosen yet.
    composing: bool,
}

impl TextBoxes {
    pub fn new(texts: Texts) -> Self {
        Self { a: texts.a, b: texts.b.unwrap_or_default(), ..Self::default() }
    }

    /// What is typed, unless an input method is in the middle of a word.
    pub fn settled(&self) -> Option<Texts> {
        let with = |prefix: &Option<Prefix>, text: &str| match prefix {
            Some(prefix) => format!("{}{text}", prefix.text),
            None => text.to_owned(),
        };
        let b = (!self.b.is_empty()).then(|| with(&self.prefixes[1], &self.b));
        (!self.composing).then(|| Texts { a: with(&self.prefixes[0], &self.a), b })
    }

    /// Nothing is typed.
    pub fn is_empty(&self) -> bool {
        self.a.is_empty() && self.b.is_empty()
    }

    /// Texts in the place of those that are typed.
    pub fn put(&mut self, texts: Texts) {
        (self.a, self.b) = (texts.a, texts.b.unwrap_or_default());
    }

    /// `offered` are the prefixes that the model knows; `beside` draws what stands behind the first box.
    pub fn show(&mut self, ui: &mut Ui, offered: &[Prefix], beside: impl FnOnce(&mut Ui)) {
        for chosen in &mut self.prefixes {
            // Another model has others.
            *chosen = chosen.take().filter(|prefix| offered.contains(prefix));
        }
        let [first_prefix, second_prefix] = &mut self.prefixes;
        let (first, second) = (tr!("Sentence"), tr!("Second sentence"));
        let font = FontId::proportional(14.0);
        let column = widest(ui.painter(), [first, second].into_iter(), &font) + 8.0;
        let hint = tr!("type here, and every head's attention follows");
        Sides::new().shrink_left().show(
            ui,
            |ui| field(ui, first, hint, &mut self.a, column, (first_prefix, offered)),
            beside,
        );
        field(ui, second, tr!("optional: makes a pair"), &mut self.b, column, (second_prefix, offered));
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

fn field(
    ui: &mut Ui,
    name: &str,
    hint: &str,
    text: &mut String,
    column: f32,
    (prefix, offered): (&mut Option<Prefix>, &[Prefix]),
) {
    ui.horizontal(|ui| {
        let start = ui.cursor().left();
        let label = ui.label(name);
        ui.add_space((start + column - ui.cursor().left()).max(0.0));
        if !offered.is_empty() {
            let shown = prefix.as_ref().map_or(tr!("no prefix"), |prefix| prefix.text.as_str());
            let list = ComboBox::from_id_salt(("prefix", name)).width(90.0).selected_text(shown).show_ui(ui, |ui| {
                ui.selectable_value(prefix, None, tr!("no prefix"));
                for one in offered {
                    ui.selectable_value(prefix, Some(one.clone()), &one.text);
                }
            });
            let help = tr!("This model was trained on texts that begin with their use");
            list.response.on_hover_text(help).labelled_by(label.id);
        }
        ui.add(TextEdit::singleline(text).hint_text(hint).desired_width(f32::INFINITY)).labelled_by(label.id);
    });
}
