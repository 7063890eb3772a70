//! Sentences to begin with, one click away.

use std::path::PathBuf;

use egui::{RichText, Ui};

use super::action::Action;
use super::lang::{key, tr};
use super::recent::RecentTexts;
use crate::figure::printable;
use crate::run::Texts;

struct Example {
    name: &'static str,
    help: &'static str,
    a: &'static str,
    b: Option<&'static str>,
}

impl Example {
    fn texts(&self) -> Texts {
        Texts { a: self.a.to_owned(), b: self.b.map(str::to_owned) }
    }
}

const EXAMPLES: [Example; 4] = [
    Example {
        name: key!("Coreference"),
        help: key!("Which head links “it” to “animal”?"),
        a: "The animal didn't cross the street because it was too tired.",
        b: None,
    },
    Example {
        name: key!("Agreement"),
        help: key!("Which head links “are” to “keys”, past the nearer “cabinet”?"),
        a: "The keys to the old cabinet are on the table.",
        b: None,
    },
    Example {
        name: key!("Negation"),
        help: key!("Which head links “not” to what it denies?"),
        a: "The film was not good, but the music was.",
        b: None,
    },
    Example {
        name: key!("Sentence pair"),
        help: key!("Two questions that mean the same, read together"),
        a: "How old are you?",
        b: Some("What is your age?"),
    },
];

const CHINESE: Example = Example {
    name: key!("Chinese"),
    help: key!("Which head links “它” to “小猫”?"),
    a: "小猫坐在垫子上，因为它累了。",
    b: None,
};

/// What there is to do while nothing is typed: a line above the map.
pub fn offer(ui: &mut Ui, actions: &mut Vec<Action>) {
    ui.horizontal_wrapped(|ui| {
        ui.label(tr!("Nothing is typed, so these are the special tokens alone. Type a sentence above, or take one:"));
        for example in EXAMPLES {
            if ui.button(tr!(example.name)).on_hover_text(example.a).clicked() {
                actions.push(Action::Type(example.texts()));
            }
        }
    });
}

/// The example that the tour takes.
pub fn first() -> Texts {
    EXAMPLES[0].texts()
}

/// The menu. `multilingual` is a model that reads Chinese, where one is there that is not in use.
pub fn menu(ui: &mut Ui, multilingual: Option<&(String, PathBuf)>, recent: &RecentTexts, actions: &mut Vec<Action>) {
    let menu = ui.menu_button(tr!("Examples"), |ui| {
        for example in EXAMPLES.iter().chain([&CHINESE]) {
            if ui.button(tr!(example.name)).on_hover_text(tr!(example.help)).clicked() {
                actions.push(Action::Type(example.texts()));
                ui.close();
            }
        }
        if let Some((name, folder)) = multilingual {
            let button = ui.button(tr!("Chinese, with %{name}", name = name));
            if button.on_hover_text(tr!("Opens that model, which reads about 100 languages")).clicked() {
                actions.push(Action::Type(CHINESE.texts()));
                actions.push(Action::OpenModel(folder.clone()));
                ui.close();
            }
        }
        if recent.iter().next().is_some() {
            ui.separator();
            ui.label(RichText::new(tr!("Recent")).weak());
        }
        for texts in recent.iter() {
            let b = texts.b.as_ref().map_or(String::new(), |b| format!(" / {b}"));
            let whole = printable(&format!("{}{b}", texts.a));
            let shown: String = whole.chars().take(48).collect();
            let more = if whole.chars().count() > 48 { "…" } else { "" };
            if ui.button(format!("{shown}{more}")).on_hover_text(whole).clicked() {
                actions.push(Action::Type(texts.clone()));
                ui.close();
            }
        }
    });
    menu.response.on_hover_text(tr!("Sentences to begin with, and those that you looked at last"));
}
