//! Finding a command by a part of its name, and the list of keys.

use egui::{Align2, Grid, Key, Modifiers, RichText, ScrollArea, TextEdit, Ui, Window};
use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use super::action::Action;
use super::app::HeadlightApp;
use super::command::Command;
use super::lang::tr;
use crate::run::HeadId;

/// The palette, open or not.
#[derive(Debug, Default)]
pub struct Palette {
    open: bool,
    typed: String,
    /// The entry that Enter takes.
    at: usize,
    pub shows_keys: bool,
}

/// What the palette offers.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Entry {
    Command(Command),
    /// A head that was typed, as in 3.4.
    Head(HeadId),
}

impl Palette {
    pub fn open(&mut self) {
        *self = Self { open: true, ..Self::default() };
    }
}

/// Commands whose names have what was typed, the best match first.
fn matching(typed: &str, commands: &[Command]) -> Vec<Command> {
    let mut matcher = Matcher::new(Config::DEFAULT);
    let pattern = Pattern::parse(typed, CaseMatching::Ignore, Normalization::Smart);
    let mut buffer = Vec::new();
    let mut scored: Vec<(u32, Command)> = commands
        .iter()
        .filter_map(|&command| {
            let mut score = |text: &str| pattern.score(Utf32Str::new(text, &mut buffer), &mut matcher);
            // Its name counts for more than its help.
            let name = score(&command.name()).map(|score| 1000 + score);
            let help = command.help().to_lowercase().contains(&typed.trim().to_lowercase());
            Some((name.or(help.then_some(0))?, command))
        })
        .collect();
    // Of equals, the one that is listed first.
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    scored.into_iter().map(|(_, command)| command).collect()
}

impl HeadlightApp {
    pub(super) fn show_palette(&mut self, ui: &Ui, actions: &mut Vec<Action>) {
        if self.palette.shows_keys {
            self.show_keys(ui);
        }
        if !self.palette.open {
            return;
        }
        let possible: Vec<Command> = Command::all().filter(|command| self.can(*command)).collect();
        let head = self.palette.typed.trim().parse::<HeadId>().ok();
        let maps = self.shown().map(|run| (run.attention.layers(), run.attention.heads()));
        let head = head.zip(maps).filter(|(head, (layers, heads))| head.within(*layers, *heads).is_ok());
        let commands = matching(&self.palette.typed, &possible).into_iter().map(Entry::Command);
        let entries: Vec<Entry> = head.map(|(head, _)| Entry::Head(head)).into_iter().chain(commands).collect();
        self.palette.at = self.palette.at.min(entries.len().saturating_sub(1));
        let (step_up, step_down, enter, escape) = ui.input_mut(|input| {
            let mut pressed = |key| input.consume_key(Modifiers::NONE, key);
            (pressed(Key::ArrowUp), pressed(Key::ArrowDown), pressed(Key::Enter), pressed(Key::Escape))
        });
        if step_up {
            self.palette.at = self.palette.at.saturating_sub(1);
        }
        if step_down {
            self.palette.at = (self.palette.at + 1).min(entries.len().saturating_sub(1));
        }
        let mut taken = entries.get(self.palette.at).copied().filter(|_| enter);
        let mut open = !escape;
        let window =
            Window::new(tr!("Commands")).anchor(Align2::CENTER_TOP, [0.0, 60.0]).collapsible(false).resizable(false);
        window.open(&mut open).show(ui.ctx(), |ui| {
            ui.set_width(480.0);
            let hint = tr!("a part of a command's name, or a head such as 3.4");
            let field = TextEdit::singleline(&mut self.palette.typed).hint_text(hint).desired_width(f32::INFINITY);
            let label = ui.label(tr!("Find"));
            let field = ui.add(field).labelled_by(label.id);
            field.request_focus();
            if field.changed() {
                self.palette.at = 0;
            }
            ScrollArea::vertical().max_height(320.0).auto_shrink([false, true]).show(ui, |ui| {
                for (number, entry) in entries.iter().enumerate() {
                    let (name, key, help) = match entry {
                        Entry::Head(head) => {
                            (tr!("Go to layer %{a}, head %{b}", a = head.layer, b = head.head), None, String::new())
                        }
                        Entry::Command(command) => (command.name(), command.key(ui), command.help().to_owned()),
                    };
                    let label = match key {
                        Some(key) => format!("{name}   {key}"),
                        None => name,
                    };
                    let row = ui.selectable_label(number == self.palette.at, label);
                    if (step_up || step_down) && number == self.palette.at {
                        row.scroll_to_me(None);
                    }
                    if row.on_hover_text(help).clicked() {
                        taken = Some(*entry);
                    }
                }
                if entries.is_empty() {
                    ui.label(tr!("nothing has this in its name"));
                }
            });
        });
        self.palette.open = open && taken.is_none();
        match taken {
            Some(Entry::Command(command)) => actions.push(Action::Do(command)),
            Some(Entry::Head(head)) => actions.push(Action::Choose(head)),
            None => {}
        }
    }

    fn show_keys(&mut self, ui: &Ui) {
        let mut open = true;
        Window::new(tr!("Keys")).anchor(Align2::CENTER_TOP, [0.0, 60.0]).collapsible(false).open(&mut open).show(
            ui.ctx(),
            |ui| {
                ui.label(
                    RichText::new(tr!(
                        "Keys without Ctrl act while no text box has the focus: Tab or a click elsewhere leaves it."
                    ))
                    .weak(),
                );
                Grid::new("keys").striped(true).show(ui, |ui| {
                    for command in Command::all() {
                        if let Some(key) = command.key(ui) {
                            ui.label(RichText::new(key).strong());
                            ui.label(command.name());
                            ui.label(RichText::new(command.help()).weak());
                            ui.end_row();
                        }
                    }
                    for (key, name, help) in [
                        (tr!("Up, Down"), tr!("Previous, next layer"), tr!("As Page Up and Page Down")),
                        (
                            tr!("Shift + click"),
                            tr!("Select heads"),
                            tr!("On thumbnails, and on the numbers of layers and heads"),
                        ),
                        (tr!("Ctrl + click"), tr!("Switch a head off or on"), tr!("On a thumbnail")),
                        (tr!("Alt + click"), tr!("Cut an edge"), tr!("On a cell of the map")),
                        (tr!("Wheel, drag"), tr!("Zoom and move"), tr!("On a map; a double click shows the whole")),
                        (tr!("Ctrl + and −"), tr!("Larger, smaller"), tr!("Of the whole window; Ctrl 0 goes back")),
                    ] {
                        ui.label(RichText::new(key).strong());
                        ui.label(name);
                        ui.label(RichText::new(help).weak());
                        ui.end_row();
                    }
                });
            },
        );
        self.palette.shows_keys = open && !ui.input(|input| input.key_pressed(Key::Escape));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_name_finds_its_command() {
        let all: Vec<Command> = Command::all().collect();
        let first = |typed: &str| matching(typed, &all).first().copied();
        assert_eq!(first("expo"), Some(Command::Export));
        assert_eq!(first("rnk"), Some(Command::RankHeads));
        assert_eq!(first("RESET"), Some(Command::ResetLayout));
        assert_eq!(first("zzzz"), None);
        assert_eq!(matching("", &all), all, "nothing typed lists all");
    }

    #[test]
    fn no_key_means_two_things() {
        let keys: Vec<_> = Command::all().filter_map(|command| command.shortcut()).collect();
        for (at, key) in keys.iter().enumerate() {
            assert!(!keys[at + 1..].contains(key), "{key:?}");
        }
    }
}
