//! The list of edits, what can be done to heads, and the history.

use egui::{RichText, Slider, Ui};

use super::action::Action;
use super::command::Command;
use super::file_dialog::Asks;
use super::lang::tr;
use super::surgery::Surgery;
use crate::figure::printable;
use crate::run::{Edit, HeadPattern, Intervention, Run, Source};

/// What a context menu of heads needs to know.
#[derive(Clone, Copy)]
pub struct Offer<'a> {
    pub surgery: &'a Surgery,
    /// The run that is shown.
    pub run: &'a Run,
    pub pinned: Option<&'a Run>,
}

/// Entries of a context menu that do something to heads.
pub fn menu(ui: &mut Ui, heads: &[HeadPattern], offer: &Offer<'_>, actions: &mut Vec<Action>) {
    if heads.len() > 1 {
        ui.label(RichText::new(tr!("%{a} selected heads", a = heads.len())).weak());
    }
    let name = if offer.surgery.are_zeroed(heads) { tr!("Switch on again") } else { tr!("Switch off (zero)") };
    if ui.button(name).on_hover_text(tr!("The head hands on nothing, as if it were pruned")).clicked() {
        actions.push(Action::ToggleZero(heads.to_vec()));
        ui.close();
    }
    let mut entry = |ui: &mut Ui, name: &str, help: &str, what: Intervention| {
        if ui.button(name).on_hover_text(help).clicked() {
            let edit = |&heads: &HeadPattern| Edit { heads, what: what.clone() };
            actions.push(Action::Edit(heads.iter().map(edit).collect()));
            ui.close();
        }
    };
    entry(ui, tr!("Uniform attention"), tr!("Every token gets the same weight"), Intervention::Uniform);
    entry(
        ui,
        tr!("Mean of this text"),
        tr!("Every token is handed the mean of what the head hands on"),
        Intervention::Mean(None),
    );
    entry(
        ui,
        tr!("Look only left (causal)"),
        tr!("Tokens to the right of the query get no weight"),
        Intervention::Causal,
    );
    let here = Source::Run(Box::new(offer.run.recipe()));
    let help = tr!("Hold the pattern that these heads have now, while the text changes");
    entry(ui, tr!("Freeze this pattern"), help, Intervention::Freeze(here));
    ui.separator();
    match offer.pinned {
        Some(pinned) if pinned.attention.tokens() == offer.run.attention.tokens() => {
            let source = || Source::Run(Box::new(pinned.recipe()));
            let help = tr!("Give these heads the attention that they had in the pinned run");
            entry(ui, tr!("Patch weights from the pinned run"), help, Intervention::PatchWeights(source()));
            let help = tr!("Let these heads hand on what they handed on in the pinned run");
            entry(ui, tr!("Patch context from the pinned run"), help, Intervention::PatchContext(source()));
        }
        pinned => {
            let why = match pinned {
                None => tr!("Pin a run first (P): heads can then be patched from it").to_owned(),
                Some(pinned) => tr!(
                    "The pinned run has %{a} tokens and this one %{b}: patching needs as many",
                    a = pinned.attention.tokens(),
                    b = offer.run.attention.tokens()
                ),
            };
            ui.add_enabled(false, egui::Button::new(tr!("Patch from the pinned run"))).on_disabled_hover_text(why);
        }
    }
    if ui
        .button(tr!("Mean over a text file…"))
        .on_hover_text(tr!("The mean of what the head hands on over many texts"))
        .clicked()
    {
        actions.push(Action::AskFile(Asks::Corpus(heads.to_vec())));
        ui.close();
    }
}

/// A slider that scales what the chosen head hands on.
pub fn scale_slider(ui: &mut Ui, heads: HeadPattern, now: f32, actions: &mut Vec<Action>) {
    let title =
        ui.label(tr!("Scale head")).on_hover_text(tr!("What this head hands on, times a factor; 1 is no change"));
    let mut factor = now;
    let slider = ui.add(Slider::new(&mut factor, 0.0..=2.0).step_by(0.05)).labelled_by(title.id);
    if slider.changed() {
        actions.push(Action::Scale(heads, factor));
    }
}

/// The edits in their order, each with a switch, and the history.
///
/// `can` tells whether anything can be undone, and done again; `furthest` is how far the head that moved most is from the plain model, in nats.
pub fn list(
    ui: &mut Ui,
    surgery: &Surgery,
    can: (bool, bool),
    pinned: Option<&Run>,
    furthest: Option<f32>,
    actions: &mut Vec<Action>,
) {
    ui.horizontal_wrapped(|ui| {
        for (command, enabled) in [
            (Command::Undo, can.0),
            (Command::Redo, can.1),
            (Command::RemoveEdits, !surgery.entries().is_empty()),
            (Command::Prune, true),
        ] {
            command.button(ui, enabled, actions);
        }
    });
    if let Some(pinned) = pinned {
        ui.horizontal(|ui| {
            if ui.small_button("✕").on_hover_text(tr!("Forget the pinned run")).clicked() {
                actions.push(Action::Unpin);
            }
            ui.add(egui::Label::new(describe(pinned)).truncate());
        });
    }
    if surgery.entries().is_empty() && surgery.history().next().is_none() {
        ui.label(
            RichText::new(
                tr!("Space switches the chosen head off, Ctrl and a click any other; a right-click on a thumbnail, a layer's or a head's number offers the rest. Shift and a click selects several heads to do the same to. Alt and a click on a cell cuts that edge."),
            )
            .weak(),
        );
        return;
    }
    // The line is there before the number is, so that nothing below it moves.
    let longest =
        furthest.map(|nats| tr!(", the longest %{nats} nats", nats = format!("{:.4}", nats))).unwrap_or_default();
    ui.label(
        RichText::new(tr!("Bars: how far each head moved from the plain model%{longest}", longest = longest)).weak(),
    )
    .on_hover_text(tr!("Jensen–Shannon divergence, mean over rows; at most ln 2 = 0.6931"));
    egui::ScrollArea::vertical().id_salt("edits").auto_shrink([false, true]).show(ui, |ui| {
        for (at, entry) in surgery.entries().iter().enumerate() {
            ui.horizontal(|ui| {
                let mut on = entry.on;
                let remove = ui.small_button("✕").on_hover_text(tr!("Remove %{a}", a = entry.edit));
                if remove.clicked() {
                    actions.push(Action::RemoveEdit(at));
                }
                let switch = ui.checkbox(&mut on, shortened(&entry.edit.to_string()));
                if switch.on_hover_text(tr!("%{a}: switch off and on", a = entry.edit)).changed() {
                    actions.push(Action::SwitchEdit(at));
                }
            });
        }
        ui.collapsing(tr!("History"), |ui| {
            for (number, step) in surgery.history().enumerate() {
                ui.label(format!("{}. {step}", number + 1));
            }
        });
    });
}

/// An edit's words, where they are long only as far as they tell it apart.
fn shortened(words: &str) -> String {
    const MOST: usize = 60;
    let words = printable(words);
    if words.chars().count() <= MOST { words } else { words.chars().take(MOST).chain(['…']).collect() }
}

/// “Pinned: the cat sat (5 tokens, 2 edits)”
fn describe(pinned: &Run) -> String {
    let texts = &pinned.input.texts;
    let b = texts.b.as_ref().map_or(String::new(), |b| format!(" / {}", printable(b)));
    let edits = match pinned.edits.len() {
        0 => String::new(),
        1 => tr!(", 1 edit").to_owned(),
        count => tr!(", %{count} edits", count = count),
    };
    tr!(
        "Pinned: %{a}%{b} (%{tokens} tokens%{edits})",
        a = printable(&texts.a),
        b = b,
        tokens = pinned.attention.tokens(),
        edits = edits
    )
}
