//! The words of the field, each in a sentence or two.

use egui::{RichText, ScrollArea, TextEdit, Ui, Window};

/// The glossary, open or not.
#[derive(Debug, Default)]
pub struct Glossary {
    pub open: bool,
    sought: String,
}

const TERMS: [(&str, &str); 20] = [
    (
        "Attention weight",
        "How much of what a token hands on goes to another one: a number from 0 to 1. A cell of a map is one.",
    ),
    ("Query", "The token that looks. A row of a map is one query: its weights add up to 1."),
    ("Key", "The token that is looked at. A column of a map is one key: a dark column is looked at by many."),
    ("Value", "What a token hands on to those that look at it. The weight says how much, the value says what."),
    ("Head", "One pattern of looking, with weights of its own. A layer has several side by side; they count from 0."),
    (
        "Layer",
        "One step of the model: all its heads look, then each token is worked on by itself. Layers count from 0.",
    ),
    ("Token", "A piece of text that the model reads as one: a word, or a part of one, such as ##ing."),
    (
        "Special tokens",
        "Markers that the model adds, such as [CLS] at the start and [SEP] at the end. Many heads rest on them when they have nothing to do.",
    ),
    ("Score", "Query times key, divided by √d. It says how well the two fit, before the softmax."),
    ("Softmax", "Turns a row of scores into weights above 0 that add up to 1."),
    ("Hidden state", "The vector that stands for a token between two layers. Heads add to it."),
    ("Entropy", "How evenly a row's weights are spread, in nats: 0 is all on one token."),
    ("Ablation", "Switching a head off, to see what the output loses. Here: zero, the same as removing it."),
    ("Mean ablation", "A head hands on its mean instead of nothing, so that what follows sees usual numbers."),
    ("Patching", "Taking a head's attention, or what it hands on, from a run of another text."),
    ("Freezing", "Holding a head's pattern while the text changes."),
    ("Pruning", "Removing heads for good, which makes the model smaller and faster."),
    (
        "Jensen–Shannon divergence",
        "How far two rows differ, in nats: 0 is the same, ln 2 = 0.69 has nothing in common.",
    ),
    ("Similarity", "The cosine of two sentences' vectors: 1 is the same direction, 0 has nothing in common."),
    (
        "Attention and explanation",
        "A weight says where a head looks, not why the model answers as it does (Jain & Wallace 2019; Wiegreffe & Pinter 2019). Switch the head off to see what it does.",
    ),
];

impl Glossary {
    pub fn show(&mut self, ui: &Ui) {
        let mut open = self.open;
        Window::new("Glossary").default_size([430.0, 420.0]).default_pos([420.0, 140.0]).open(&mut open).show(
            ui.ctx(),
            |ui| {
                let label = ui.label("Look for");
                ui.add(TextEdit::singleline(&mut self.sought).desired_width(f32::INFINITY)).labelled_by(label.id);
                let sought = self.sought.trim().to_lowercase();
                ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
                    for (term, meaning) in TERMS {
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
