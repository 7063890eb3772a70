//! A few steps through the window for those who see it for the first time.

use eframe::Storage;
use egui::{Align2, LayerId, Order, Rect, RichText, Stroke, StrokeKind, Ui, Window};

use super::action::Action;
use super::command::Command;
use super::examples;
use super::lang::{key, tr};
use super::marks;
use super::panes::Pane;

const SEEN: &str = "tour seen";

/// The tour: which step is shown, if one is.
#[derive(Debug, Default)]
pub struct Tour {
    step: Option<usize>,
    seen: bool,
}

struct Step {
    title: &'static str,
    text: &'static str,
    /// The view that it speaks of, which is framed.
    pane: Option<Pane>,
}

const STEPS: [Step; 6] = [
    Step {
        title: key!("A sentence"),
        text: key!(
            "Type a sentence in the box at the top, or take an example. Every head's attention follows what you type."
        ),
        pane: None,
    },
    Step {
        title: key!("A cell"),
        text: key!(
            "The map shows one head. The row is the token that looks, the column the one that is looked at; the more its colour stands out from the ground, the more weight. Point at a cell to read both tokens and the weight."
        ),
        pane: Some(Pane::Map),
    },
    Step {
        title: key!("A row adds up to 1"),
        text: key!(
            "Each token shares out its attention: the weights of a row add up to 1. Click a row's label to pin that token: Lines and Text then show what it looks at."
        ),
        pane: Some(Pane::Map),
    },
    Step {
        title: key!("A head"),
        text: key!(
            "Each thumbnail is a head, with a pattern of its own: a diagonal looks at neighbours, an upright stripe at one token. Click one, or use the arrow keys."
        ),
        pane: Some(Pane::Heads),
    },
    Step {
        title: key!("A layer"),
        text: key!(
            "A row of thumbnails is a layer; what leaves it enters the next one. The heads of later layers look at tokens that already know of each other."
        ),
        pane: Some(Pane::Heads),
    },
    Step {
        title: key!("Switching one off"),
        text: key!(
            "Press Space: the head hands on nothing, as if it were pruned. Output says what changed, and Undo brings it back. Ctrl+K finds everything else."
        ),
        pane: Some(Pane::Output),
    },
];

impl Tour {
    /// Begins on the first opening, where that can be known.
    pub fn kept(storage: Option<&dyn Storage>) -> Self {
        let seen = storage.is_none_or(|storage| storage.get_string(SEEN).is_some());
        Self { step: (!seen).then_some(0), seen }
    }

    pub fn keep(&self, storage: &mut dyn Storage) {
        if self.seen {
            storage.set_string(SEEN, "yes".to_owned());
        }
    }

    pub fn begin(&mut self) {
        self.step = Some(0);
    }

    /// `place` tells where a view is on the screen, and `typed` whether there is a text.
    pub fn show(&mut self, ui: &Ui, place: impl Fn(Pane) -> Option<Rect>, typed: bool, actions: &mut Vec<Action>) {
        // What the first step asks for is done.
        if self.step == Some(0) && typed {
            self.step = Some(1);
        }
        let Some(at) = self.step else { return };
        let Some(step) = STEPS.get(at) else { return };
        if let Some(rect) = step.pane.and_then(place) {
            let painter = ui.ctx().layer_painter(LayerId::new(Order::Foreground, egui::Id::unique("tour frame")));
            painter.rect_stroke(rect.shrink(1.0), 4.0, Stroke::new(3.0, marks::PIN), StrokeKind::Inside);
        }
        let mut open = true;
        let mut next = Some(at);
        let title = tr!("%{a} of %{b}: %{c}", a = at + 1, b = STEPS.len(), c = tr!(step.title));
        let window =
            Window::new(tr!("Tour")).anchor(Align2::LEFT_BOTTOM, [12.0, -40.0]).collapsible(false).resizable(false);
        window.open(&mut open).show(ui.ctx(), |ui| {
            ui.set_width(380.0);
            ui.label(RichText::new(title).strong());
            ui.label(tr!(step.text));
            ui.add_space(4.0);
            ui.horizontal(|ui| {
                if ui.add_enabled(at > 1 || (at == 1 && !typed), egui::Button::new(tr!("Back"))).clicked() {
                    next = at.checked_sub(1);
                }
                let last = at + 1 == STEPS.len();
                if ui.button(if last { tr!("Done") } else { tr!("Next") }).clicked() {
                    next = (!last).then_some(at + 1);
                }
                if at == 0 && ui.button(tr!("Take an example")).clicked() {
                    actions.push(Action::Type(examples::first()));
                }
                if last && ui.button(tr!("Glossary")).clicked() {
                    actions.push(Action::Do(Command::Glossary));
                }
            });
        });
        self.step = next.filter(|_| open);
        self.seen |= self.step.is_none();
        if self.step != Some(at)
            && let Some(pane) = self.step.and_then(|at| STEPS.get(at)?.pane)
        {
            actions.push(Action::ShowPane(pane));
        }
    }
}
