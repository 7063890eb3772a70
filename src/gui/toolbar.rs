//! How everything is looked at: the row of controls under the texts.

use egui::{RichText, Ui};

use super::action::Action;
use super::app::HeadlightApp;
use super::controls::{choice, choose_range};
use super::edits;
use super::file_dialog::Asks;
use crate::figure::view_name;
use crate::run::{ColorMap, ColorScale, PoolBy, Segments, Specials, Units};

impl HeadlightApp {
    pub(super) fn show_toolbar(&mut self, ui: &mut Ui, actions: &mut Vec<Action>) {
        ui.horizontal_wrapped(|ui| {
            ui.heading(capitalised(&view_name(&self.shown_view())))
                .on_hover_text("Layers and heads count from 0, as in Hugging Face");
            if self.surgery.is_zero(self.view.head) && !self.shows_plain {
                ui.label(RichText::new("off").strong());
            }
            if self.conversation.run().is_some_and(|run| run.model.pruned.contains(&self.view.head)) {
                ui.label(RichText::new("pruned").strong())
                    .on_hover_text("This head was cut out of the model's weights");
            }
            ui.separator();
            if self.selection.len() > 1 {
                let pool = |by: Option<PoolBy>| match by {
                    None => "one head",
                    Some(PoolBy::Mean) => "mean of selected",
                    Some(PoolBy::Max) => "maximum of selected",
                };
                let all = [None, Some(PoolBy::Mean), Some(PoolBy::Max)];
                choice(ui, "Show", "One head, or the selected heads as one map", &mut self.pool, all, pool);
            }
            self.choose_reading(ui);
            choice(ui, "Colours", "The colours of weights", &mut self.view.colors, ColorMap::ALL, ColorMap::name);
            let help = "How colours follow weights: by the root or the logarithm, small weights show";
            choice(ui, "Colour scale", help, &mut self.view.scale, ColorScale::ALL, ColorScale::name);
            choose_range(ui, &mut self.view.range);
        });
        ui.horizontal(|ui| {
            let reset = ui.add_enabled(self.heatmap.is_zoomed(), egui::Button::new("Whole map"));
            if reset.on_hover_text("Show all tokens again; a double click does the same").clicked() {
                actions.push(Action::ResetZoom);
            }
            if ui.button("Compare").on_hover_text("Hold this head, and see others beside it (C)").clicked() {
                actions.push(Action::Compare);
            }
            if ui.button("Export…").on_hover_text("Write the picture in front to a PNG or SVG file").clicked() {
                actions.push(Action::AskFile(self.exported()));
            }
            ui.separator();
            edits::scale_slider(ui, self.view.head.into(), self.surgery.scale(self.view.head), actions);
            let differs = !self.surgery.active().is_empty();
            let mut plain = self.shows_plain && differs;
            let check = ui.add_enabled(differs, egui::Checkbox::new(&mut plain, "Plain model"));
            if check.on_hover_text("Show the model without the edits, and back (B)").clicked() {
                actions.push(Action::TogglePlain);
            }
            let help = "Keep this run and this head, to compare with and to patch heads from (P)";
            if ui.button("Pin run").on_hover_text(help).clicked() {
                actions.push(Action::Pin);
            }
        });
    }

    /// What rows and columns are.
    fn choose_reading(&mut self, ui: &mut Ui) {
        let units = |units: Units| match units {
            Units::Pieces => "pieces",
            Units::Words => "words",
        };
        let help =
            "The model's pieces, or whole words: weights to the pieces of a word add up, those from them are averaged";
        choice(ui, "Tokens", help, &mut self.view.reading.units, Units::ALL, units);
        let specials = |specials: Specials| match specials {
            Specials::Show => "shown",
            Specials::Hide => "hidden",
            Specials::Renormalise => "hidden, rows renormalised",
        };
        let help = "Markers such as [CLS] and [SEP]: many heads rest on them";
        choice(ui, "Special tokens", help, &mut self.view.reading.specials, Specials::ALL, specials);
        let pair = self.shown().is_some_and(|run| run.input.texts.b.is_some());
        if pair || self.view.reading.segments != Segments::All {
            let help = "Whose queries and whose keys of a pair are shown";
            choice(ui, "Segments", help, &mut self.view.reading.segments, Segments::ALL, Segments::name);
        }
    }

    /// What Export writes: the comparison where that is in front, else the map.
    pub(super) fn exported(&self) -> Asks {
        let comparison =
            super::panes::is_open(&self.layout, super::panes::Pane::Compare) && self.compare.figure().is_some();
        if comparison { Asks::Comparison } else { Asks::Picture }
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
