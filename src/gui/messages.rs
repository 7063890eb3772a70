//! News and errors: shown for a while at the corner of the window, and kept in a list.

use std::time::Duration;

use egui::{Align2, Area, Color32, Frame, Id, RichText, ScrollArea, Stroke, Ui, Window};

use super::lang::tr;

/// Everything that was told, the latest last.
#[derive(Debug, Default)]
pub struct Messages {
    told: Vec<Message>,
    /// The list is shown.
    pub open: bool,
}

#[derive(Debug)]
struct Message {
    text: String,
    trouble: bool,
    /// The window's time when it was first shown.
    since: Option<f64>,
    dismissed: bool,
}

/// How long a message stays, in seconds; trouble takes longer to read.
const NEWS: f64 = 5.0;
const TROUBLE: f64 = 12.0;
/// More are not kept.
const MOST: usize = 200;

impl Messages {
    pub fn tell(&mut self, text: impl Into<String>) {
        self.add(text.into(), false);
    }

    /// Says what went wrong, in one sentence.
    pub fn fail(&mut self, cause: impl std::fmt::Display) {
        self.add(tr!("failed: %{cause}", cause = cause), true);
    }

    fn add(&mut self, text: String, trouble: bool) {
        // What is told again takes the place of what was told before.
        if self.told.last().is_some_and(|last| last.text == text) {
            self.told.pop();
        }
        self.told.push(Message { text, trouble, since: None, dismissed: false });
        let many = self.told.len().saturating_sub(MOST);
        self.told.drain(..many);
    }

    pub fn is_empty(&self) -> bool {
        self.told.is_empty()
    }

    /// Those that are new, above the last line of the window.
    pub fn show_new(&mut self, ui: &Ui) {
        let now = ui.input(|input| input.time);
        let mut wait = f64::INFINITY;
        let mut above = 40.0;
        for (number, message) in self.told.iter_mut().enumerate().rev() {
            let since = *message.since.get_or_insert(now);
            let left = since + if message.trouble { TROUBLE } else { NEWS } - now;
            if left <= 0.0 || message.dismissed {
                continue;
            }
            wait = wait.min(left);
            let area = Area::new(Id::unique(("message", number))).anchor(Align2::RIGHT_BOTTOM, [-12.0, -above]);
            let shown = area.order(egui::Order::Foreground).interactable(true).show(ui.ctx(), |ui| {
                let edge = if message.trouble { ui.visuals().error_fg_color } else { Color32::GRAY };
                Frame::popup(ui.style()).stroke(Stroke::new(1.0, edge)).show(ui, |ui| {
                    ui.set_max_width(460.0);
                    ui.horizontal(|ui| {
                        if ui.small_button("✕").on_hover_text(tr!("Close this message; the list keeps it")).clicked()
                        {
                            message.dismissed = true;
                        }
                        ui.add(egui::Label::new(message.text.as_str()).wrap());
                    });
                });
            });
            above += shown.response.rect.height() + 6.0;
        }
        if wait.is_finite() {
            ui.ctx().request_repaint_after(Duration::from_secs_f64(wait + 0.01));
        }
    }

    /// The list of all, the latest first.
    pub fn show_list(&mut self, ui: &Ui) {
        let mut open = self.open;
        Window::new(tr!("Messages")).default_size([460.0, 260.0]).open(&mut open).show(ui.ctx(), |ui| {
            ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
                for message in self.told.iter().rev() {
                    let color = if message.trouble { ui.visuals().error_fg_color } else { ui.visuals().text_color() };
                    ui.label(RichText::new(&message.text).color(color));
                }
            });
        });
        self.open = open;
    }
}
