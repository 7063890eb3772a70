//! The words of the field, each in a sentence or two.

use egui::{RichText, ScrollArea, TextEdit, Ui, Window};

use super::lang::{key, tr};

/// The glossary, open or not.
#[derive(Debug, Default)]
pub struct Glossary {
    pub open: bool,
    sought: String,
}

const TERMS: [(&str, &str); 20] = [
    (
        key!("Attention weight"),
        key!("How much of what a token hands on goes to another one: a number from 0 to 1. A cell of a map is one."),
    ),
    (key!("Query"), key!("The token that looks. A row of a map is one query: its weights add up to 1.")),
    (
        key!("Key"),
        key!("The token that is looked at. A column of a map is one key: a dark column is looked at by many."),
    ),
    (
        key!("Value"),
        key!("What a token hands on to those that look at it. The weight says how much, the value says what."),
    ),
    (
        key!("Head"),
        key!("One pattern of looking, with weights of its own. A layer has several side by side; they count from 0."),
    ),
    (
        key!("Layer"),
        key!("One step of the model: all its heads look, then each token is worked on by itself. Layers count from 0."),
    ),
    (key!("Token"), key!("A piece of text that the model reads as one: a word, or a part of one, such as ##ing.")),
    (
        key!("Special tokens"),
        key!(
            "Markers that the model adds, such as [CLS] at the start and [SEP] at the end. Many heads rest on them when they have nothing to do."
        ),
    ),
    (key!("Score"), key!("Query times key, divided by √d. It says how well the two fit, before the softmax.")),
    (key!("Softmax"), key!("Turns a row of scores into weights above 0 that add up to 1.")),
    (key!("Hidden state"), key!("The vector that stands for a token between two layers. Heads add to it.")),
    (key!("Entropy"), key!("How evenly a row's weights are spread, in nats: 0 is all on one token.")),
    (
        key!("Ablation"),
        key!("Switching a head off, to see what the output loses. Here: zero, the same as removing it."),
    ),
    (
        key!("Mean ablation"),
        key!("A head hands on its mean instead of nothing, so that what follows sees usual numbers."),
    ),
    (key!("Patching"), key!("Taking a head's attention, or what it hands on, from a run of another text.")),
    (key!("Freezing"), key!("Holding a head's pattern while the text changes.")),
    (key!("Pruning"), key!("Removing heads for good, which makes the model smaller and faster.")),
    (
        key!("Jensen–Shannon divergence"),
        key!("How far two rows differ, in nats: 0 is the same, ln 2 = 0.69 has nothing in common."),
    ),
    (
        key!("Similarity"),
        key!("The cosine of two sentences' vectors: 1 is the same direction, 0 has nothing in common."),
    ),
    (
        key!("Attention and explanation"),
        key!(
            "A weight says where a head looks, not why the model answers as it does (Jain & Wallace 2019; Wiegreffe & Pinter 2019). Switch the head off to see what it does."
        ),
    ),
];

impl Glossary {
    pub fn show(&mut self, ui: &Ui) {
        let mut open = self.open;
        Window::new(tr!("Glossary")).default_size([430.0, 420.0]).default_pos([420.0, 140.0]).open(&mut open).show(
            ui.ctx(),
            |ui| {
                let label = ui.label(tr!("Look for"));
                ui.add(TextEdit::singleline(&mut self.sought).desired_width(f32::INFINITY)).labelled_by(label.id);
                let sought = self.sought.trim().to_lowercase();
                ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
                    for (term, meaning) in TERMS.map(|(term, meaning)| (tr!(term), tr!(meaning))) {
                        if term.to_lowercase().contains(&sought) || meaning.to_lowercase().contains(&sought) {
                            ui.label(RichText::new(term).strong());
                            ui.label(meaning);
                            ui.add_space(6.0);
                        }
                    }
                });
            },
        );
        self.open = open;
    }
}
