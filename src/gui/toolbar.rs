//! How everything is looked at: the row of controls under the texts.

use egui::{RichText, Ui};

use super::action::Action;
use super::app::HeadlightApp;
use super::command::Command;
use super::controls::{choice, choose_range};
use super::edits;
use super::lang::tr;
use super::notes::view_name;
use crate::run::{ColorMap, ColorScale, PoolBy, Segments, Specials, Units};

impl HeadlightApp {
    pub(super) fn show_toolbar(&mut self, ui: &mut Ui, actions: &mut Vec<Action>) {
        ui.horizontal_wrapped(|ui| {
            let view = self.shown_view();
            let view = self.shown().map_or_else(|| view.clone(), |run| run.as_drawn(&view));
            ui.heading(capitalised(&view_name(&view)))
                .on_hover_text(tr!("Layers and heads count from 0, as in Hugging Face"));
            if self.surgery.is_zero(self.view.head) && !self.shows_plain {
                ui.label(RichText::new(tr!("off")).strong());
            }
            if self.conversation.run().is_some_and(|run| run.model.pruned.contains(&self.view.head)) {
                ui.label(RichText::new(tr!("pruned")).strong())
                    .on_hover_text(tr!("This head was cut out of the model's weights"));
            }
            ui.separator();
            if self.selection.len() > 1 {
                let pool = |by: Option<PoolBy>| match by {
                    None => tr!("one head"),
                    Some(PoolBy::Mean) => tr!("mean of selected"),
                    Some(PoolBy::Max) => tr!("maximum of selected"),
                };
                let all = [None, Some(PoolBy::Mean), Some(PoolBy::Max)];
                choice(ui, tr!("Show"), tr!("One head, or the selected heads as one map"), &mut self.pool, all, pool);
            }
            self.choose_reading(ui);
            choice(
                ui,
                tr!("Colours"),
                tr!("The colours of weights"),
                &mut self.view.colors,
                ColorMap::ALL,
                ColorMap::name,
            );
            let help = tr!(
                "How colours follow weights: by the root, the logarithm, by row or by percentile, small weights show"
            );
            choice(ui, tr!("Colour scale"), help, &mut self.view.scale, ColorScale::ALL, |scale| tr!(scale.name()));
            // By row and by percentile, the map itself sets the upper end.
            ui.add_enabled_ui(!self.view.scale.is_relative(), |ui| choose_range(ui, &mut self.view.range));
        });
        ui.horizontal(|ui| {
            for command in [Command::WholeMap, Command::Compare, Command::Export] {
                command.button(ui, self.can(command), actions);
            }
            ui.separator();
            edits::scale_slider(ui, self.view.head.into(), self.surgery.scale(self.view.head), actions);
            let differs = !self.surgery.active().is_empty();
            let mut plain = self.shows_plain && differs;
            let check = ui.add_enabled(differs, egui::Checkbox::new(&mut plain, tr!("Plain model")));
            if check.on_hover_text(Command::TogglePlain.hint(ui)).clicked() {
                actions.push(Action::TogglePlain);
            }
            Command::Pin.button(ui, true, actions);
        });
    }

    /// What rows and columns are.
    fn choose_reading(&mut self, ui: &mut Ui) {
        let units = |units: Units| match units {
            Units::Pieces => tr!("pieces"),
            Units::Words => tr!("words"),
        };
        let help = tr!(
            "The model's pieces, or whole words: weights to the pieces of a word add up, those from them are averaged"
        );
        choice(ui, tr!("Tokens"), help, &mut self.view.reading.units, Units::ALL, units);
        let specials = |specials: Specials| match specials {
            Specials::Show => tr!("shown"),
            Specials::Hide => tr!("hidden"),
            Specials::Renormalise => tr!("hidden, rows renormalised"),
        };
        let help = tr!("Markers such as [CLS] and [SEP]: many heads rest on them");
        choice(ui, tr!("Special tokens"), help, &mut self.view.reading.specials, Specials::ALL, specials);
        let pair = self.shown().is_some_and(|run| run.input.texts.b.is_some());
        if pair || self.view.reading.segments != Segments::All {
            let help = tr!("Whose queries and whose keys of a pair are shown");
            choice(ui, tr!("Segments"), help, &mut self.view.reading.segments, Segments::ALL, |part| tr!(part.name()));
        }
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
