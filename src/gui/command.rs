//! Everything that can be done by a name: one list for buttons, keys, the palette and the help.

use egui::{Button, Key, KeyboardShortcut, Modifiers, Response, Ui};

use super::action::{Action, patterns};
use super::app::HeadlightApp;
use super::file_dialog::Asks;
use super::lang::tr;
use super::panes::{self, Pane};
use crate::run::{HeadId, HeadPattern};

/// Something that can be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Command {
    Palette,
    Keys,
    HeadLeft,
    HeadRight,
    LayerUp,
    LayerDown,
    ToggleHead,
    TogglePlain,
    Pin,
    Compare,
    Export,
    Undo,
    Redo,
    ClearSelection,
    SelectLayer,
    SelectColumn,
    WholeMap,
    RemoveEdits,
    RankHeads,
    Experiments,
    Prune,
    OpenModel,
    FetchModel,
    AboutModel,
    OpenSession,
    SaveSession,
    Messages,
    Glossary,
    Tour,
    Show(Pane),
    ResetLayout,
}

impl Command {
    /// All of them, as the palette lists them.
    pub fn all() -> impl Iterator<Item = Self> {
        let before = [
            Self::Palette,
            Self::Keys,
            Self::HeadLeft,
            Self::HeadRight,
            Self::LayerUp,
            Self::LayerDown,
            Self::ToggleHead,
            Self::TogglePlain,
            Self::Pin,
            Self::Compare,
            Self::Export,
            Self::Undo,
            Self::Redo,
            Self::ClearSelection,
            Self::SelectLayer,
            Self::SelectColumn,
            Self::WholeMap,
            Self::RemoveEdits,
            Self::RankHeads,
            Self::Experiments,
            Self::Prune,
            Self::OpenModel,
            Self::FetchModel,
            Self::AboutModel,
            Self::OpenSession,
            Self::SaveSession,
            Self::Messages,
            Self::Glossary,
            Self::Tour,
        ];
        before.into_iter().chain(Pane::ALL.map(Self::Show)).chain([Self::ResetLayout])
    }

    pub fn name(self) -> String {
        match self {
            Self::Palette => tr!("Commands…"),
            Self::Keys => tr!("Keys"),
            Self::HeadLeft => tr!("Previous head"),
            Self::HeadRight => tr!("Next head"),
            Self::LayerUp => tr!("Previous layer"),
            Self::LayerDown => tr!("Next layer"),
            Self::ToggleHead => tr!("Switch head off or on"),
            Self::TogglePlain => tr!("Plain model"),
            Self::Pin => tr!("Pin run"),
            Self::Compare => tr!("Compare"),
            Self::Export => tr!("Export…"),
            Self::Undo => tr!("Undo"),
            Self::Redo => tr!("Redo"),
            Self::ClearSelection => tr!("End selection"),
            Self::SelectLayer => tr!("Select this layer"),
            Self::SelectColumn => tr!("Select this head in every layer"),
            Self::WholeMap => tr!("Whole map"),
            Self::RemoveEdits => tr!("Remove all"),
            Self::RankHeads => tr!("Rank heads"),
            Self::Experiments => tr!("Experiments…"),
            Self::Prune => tr!("Prune for good…"),
            Self::OpenModel => tr!("Open a folder…"),
            Self::FetchModel => tr!("Fetch a model…"),
            Self::AboutModel => tr!("About the model"),
            Self::OpenSession => tr!("Open session…"),
            Self::SaveSession => tr!("Save session…"),
            Self::Messages => tr!("Messages"),
            Self::Glossary => tr!("Glossary"),
            Self::Tour => tr!("Tour"),
            Self::Show(pane) => return tr!("Show %{a}", a = pane.name()),
            Self::ResetLayout => tr!("Reset layout"),
        }
        .to_owned()
    }

    /// What it does, in a sentence.
    pub fn help(self) -> &'static str {
        match self {
            Self::Palette => tr!("Find anything that can be done by a part of its name"),
            Self::Keys => tr!("What the keys do"),
            Self::HeadLeft => tr!("Look at the head before this one"),
            Self::HeadRight => tr!("Look at the head behind this one"),
            Self::LayerUp => tr!("Look at the same head of the layer before"),
            Self::LayerDown => tr!("Look at the same head of the layer behind"),
            Self::ToggleHead => tr!("The head, or the selected heads, hand on nothing, as if pruned; and back"),
            Self::TogglePlain => tr!("Show the model without the edits, and back"),
            Self::Pin => tr!("Keep this run and this head, to compare with and to patch heads from"),
            Self::Compare => tr!("Hold this head, and see others beside it"),
            Self::Export => tr!("Write the picture in front to a PNG or SVG file"),
            Self::Undo => tr!("Take the last change back"),
            Self::Redo => tr!("Do again what was taken back"),
            Self::ClearSelection => tr!("Look at one head again"),
            Self::SelectLayer => tr!("Select all heads of the layer that is looked at"),
            Self::SelectColumn => tr!("Select the head of this number in every layer"),
            Self::WholeMap => tr!("Show all tokens again; a double click does the same"),
            Self::RemoveEdits => tr!("Remove all edits; Undo brings them back"),
            Self::RankHeads => {
                tr!(
                    "Switch each head off by itself and see what the output loses: the similarity of a pair, or the cosine of a sentence's vector with its plain one"
                )
            }
            Self::Experiments => tr!("Rank heads on a file of texts and by other measures, and draw pruning curves"),
            Self::Prune => tr!("Write a model folder without some heads"),
            Self::OpenModel => tr!("A folder can be dropped onto the window as well"),
            Self::FetchModel => tr!("From the Hugging Face hub, by its name"),
            Self::AboutModel => tr!("Its shape, files, and what was found while it was read"),
            Self::OpenSession => tr!("Read texts, edits and view from a file"),
            Self::SaveSession => tr!("Keep texts, edits and view in a file; the numbers are computed again from them"),
            Self::Messages => tr!("Everything that the window has told"),
            Self::Glossary => tr!("The words of the field, each in a sentence"),
            Self::Tour => tr!("A few steps through the window"),
            Self::Show(pane) => pane.help(),
            Self::ResetLayout => tr!("Every view where it was at first"),
        }
    }

    /// The key that does it. Keys without Ctrl act while no text box has the focus.
    pub fn shortcut(self) -> Option<KeyboardShortcut> {
        let plain = |key| Some(KeyboardShortcut::new(Modifiers::NONE, key));
        let command = |key| Some(KeyboardShortcut::new(Modifiers::COMMAND, key));
        match self {
            Self::Palette => command(Key::K),
            Self::Keys => plain(Key::F1),
            Self::HeadLeft => plain(Key::ArrowLeft),
            Self::HeadRight => plain(Key::ArrowRight),
            Self::LayerUp => plain(Key::PageUp),
            Self::LayerDown => plain(Key::PageDown),
            Self::ToggleHead => plain(Key::Space),
            Self::TogglePlain => plain(Key::B),
            Self::Pin => plain(Key::P),
            Self::Compare => plain(Key::C),
            Self::Export => command(Key::E),
            Self::Undo => command(Key::Z),
            Self::Redo => Some(KeyboardShortcut::new(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::Z)),
            Self::ClearSelection => plain(Key::Escape),
            Self::OpenSession => command(Key::O),
            Self::SaveSession => command(Key::S),
            _ => None,
        }
    }

    /// The key as a reader knows it.
    pub fn key(self, ui: &Ui) -> Option<String> {
        self.shortcut().map(|shortcut| ui.ctx().format_shortcut(&shortcut))
    }

    /// Its help, with its key.
    pub fn hint(self, ui: &Ui) -> String {
        match self.key(ui) {
            Some(key) => tr!("%{a} (%{key})", a = self.help(), key = key),
            None => self.help().to_owned(),
        }
    }

    /// A button that does it.
    pub fn button(self, ui: &mut Ui, enabled: bool, actions: &mut Vec<Action>) -> Response {
        let hint = self.hint(ui);
        let response = ui.add_enabled(enabled, Button::new(self.name())).on_hover_text(hint);
        if response.clicked() {
            actions.push(Action::Do(self));
        }
        response
    }
}

/// How keys can be meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// At any time.
    Always,
    /// While no text box has the focus.
    NoText,
    /// While nothing has the focus: Space presses the button that has it, and arrows go to the next one.
    NoFocus,
}

impl Command {
    fn kind(self) -> Kind {
        match self {
            Self::Palette | Self::Keys | Self::Export | Self::OpenSession | Self::SaveSession => Kind::Always,
            Self::ToggleHead | Self::HeadLeft | Self::HeadRight => Kind::NoFocus,
            _ => Kind::NoText,
        }
    }
}

impl HeadlightApp {
    /// Keys that were pressed, as what they do.
    pub(super) fn keys(&self, ui: &Ui, actions: &mut Vec<Action>) {
        let text = ui.ctx().text_edit_focused();
        let focus = ui.ctx().egui_wants_keyboard_input();
        // Escape closes a menu before it ends the selection.
        let popup = egui::Popup::is_any_open(ui.ctx());
        let mut commands: Vec<(Command, KeyboardShortcut)> =
            Command::all().filter_map(|command| Some((command, command.shortcut()?))).collect();
        // The longer shortcut first, or the shorter one would take it.
        commands.sort_by_key(|(_, shortcut)| !shortcut.modifiers.shift);
        for (command, shortcut) in commands {
            let heard = match command.kind() {
                Kind::Always => true,
                Kind::NoText => !text && self.dialog.is_none(),
                Kind::NoFocus => !focus && self.dialog.is_none(),
            };
            let taken = command == Command::ClearSelection && (popup || self.selection.is_empty());
            if heard && !taken && self.can(command) && ui.input_mut(|input| input.consume_shortcut(&shortcut)) {
                actions.push(Action::Do(command));
            }
        }
        // Up and down go through layers as well: the grid has layers down and heads across.
        if !focus && self.dialog.is_none() {
            for (key, command) in [(Key::ArrowUp, Command::LayerUp), (Key::ArrowDown, Command::LayerDown)] {
                if self.can(command) && ui.input_mut(|input| input.consume_key(Modifiers::NONE, key)) {
                    actions.push(Action::Do(command));
                }
            }
        }
    }

    /// Whether it can be done now.
    pub(super) fn can(&self, command: Command) -> bool {
        let run = self.shown().is_some();
        match command {
            Command::Undo => self.history.can_undo(),
            Command::Redo => self.history.can_redo(),
            Command::WholeMap => self.heatmap.is_zoomed(),
            Command::RemoveEdits => !self.surgery.entries().is_empty(),
            Command::TogglePlain => run && !self.surgery.active().is_empty(),
            Command::ClearSelection => !self.selection.is_empty(),
            Command::AboutModel | Command::Prune => self.conversation.model().is_some(),
            Command::Messages => !self.messages.is_empty(),
            Command::Palette
            | Command::Keys
            | Command::Experiments
            | Command::OpenModel
            | Command::FetchModel
            | Command::OpenSession
            | Command::SaveSession
            | Command::Glossary
            | Command::Tour
            | Command::Show(_)
            | Command::ResetLayout => true,
            _ => run,
        }
    }

    /// What a command comes to now.
    pub(super) fn action_of(&self, command: Command) -> Option<Action> {
        if !self.can(command) {
            return None;
        }
        let HeadId { layer, head } = self.view.head;
        Some(match command {
            Command::Palette => Action::OpenPalette,
            Command::Keys => Action::ShowKeys,
            Command::HeadLeft => Action::Choose(HeadId::new(layer, head.checked_sub(1)?)),
            Command::HeadRight => Action::Choose(self.there(HeadId::new(layer, head + 1))?),
            Command::LayerUp => Action::Choose(HeadId::new(layer.checked_sub(1)?, head)),
            Command::LayerDown => Action::Choose(self.there(HeadId::new(layer + 1, head))?),
            Command::ToggleHead => Action::ToggleZero(patterns(&self.selection, self.view.head)),
            Command::TogglePlain => Action::TogglePlain,
            Command::Pin => Action::Pin,
            Command::Compare => Action::Compare,
            Command::Export => Action::AskFile(self.exported()),
            Command::Undo => Action::Undo,
            Command::Redo => Action::Redo,
            Command::ClearSelection => Action::ClearSelection,
            Command::SelectLayer => Action::SelectAll(HeadPattern { layer: Some(layer), head: None }, false),
            Command::SelectColumn => Action::SelectAll(HeadPattern { layer: None, head: Some(head) }, false),
            Command::WholeMap => Action::ResetZoom,
            Command::RemoveEdits => Action::ClearEdits,
            Command::RankHeads => Action::RankHeads,
            Command::Experiments => Action::OpenExperiments,
            Command::Prune => Action::OfferPruning,
            Command::OpenModel => Action::AskFile(Asks::OpenModel),
            Command::FetchModel => Action::OpenHub,
            Command::AboutModel => Action::ShowModel(true),
            Command::OpenSession => Action::AskFile(Asks::OpenSession),
            Command::SaveSession => Action::AskFile(Asks::SaveSession),
            Command::Messages => Action::ShowMessages,
            Command::Glossary => Action::OpenGlossary,
            Command::Tour => Action::BeginTour,
            Command::Show(pane) => Action::ShowPane(pane),
            Command::ResetLayout => Action::ResetLayout,
        })
    }

    /// A head, if the model has it.
    fn there(&self, head: HeadId) -> Option<HeadId> {
        let maps = &self.shown()?.attention;
        head.within(maps.layers(), maps.heads()).ok()
    }

    /// What Export writes: the comparison where that is in front, else the map.
    fn exported(&self) -> Asks {
        let comparison = panes::is_in_front(&self.layout, Pane::Compare) && self.compare.figure().is_some();
        if comparison { Asks::Comparison } else { Asks::Picture }
    }
}
