//! Small controls that several places use.

use egui::{ComboBox, ThemePreference, Ui};

use super::lang::{Language, tr};
use crate::run::MapRange;

/// A drop-down list with its name before it.
pub fn choice<T: Copy + PartialEq, const N: usize>(
    ui: &mut Ui,
    name: &str,
    help: &str,
    chosen: &mut T,
    all: [T; N],
    label: impl Fn(T) -> &'static str,
) {
    let title = ui.label(name);
    let list = ComboBox::from_id_salt(name).selected_text(label(*chosen)).show_ui(ui, |ui| {
        for one in all {
            ui.selectable_value(chosen, one, label(one));
        }
    });
    list.response.labelled_by(title.id).on_hover_text(help);
}

pub fn choose_theme(ui: &mut Ui) {
    let before = ui.options(|options| options.theme_preference);
    let mut chosen = before;
    ui.menu_button(tr!("Theme"), |ui| {
        for (theme, name) in [
            (ThemePreference::System, tr!("As the system")),
            (ThemePreference::Light, tr!("Light")),
            (ThemePreference::Dark, tr!("Dark")),
        ] {
            ui.radio_value(&mut chosen, theme, name);
        }
    });
    if chosen != before {
        ui.ctx().set_theme(chosen);
    }
}

/// The language of the window; gives another one if it was chosen.
pub fn choose_language(ui: &mut Ui, now: Language) -> Option<Language> {
    let mut chosen = now;
    ui.menu_button(tr!("Language"), |ui| {
        for language in Language::ALL {
            if ui.radio_value(&mut chosen, language, language.name()).clicked() {
                ui.close();
            }
        }
    });
    (chosen != now).then_some(chosen)
}

/// Which weight the colours' upper end stands for.
pub fn choose_range(ui: &mut Ui, range: &mut MapRange) {
    let name = |range: MapRange| match range {
        MapRange::Head => tr!("this head"),
        MapRange::Layer => tr!("this layer"),
        MapRange::All => tr!("all heads"),
        MapRange::Unit => tr!("0 to 1"),
        MapRange::Fixed(_) => tr!("fixed"),
    };
    let fixed = if let MapRange::Fixed(_) = range { *range } else { MapRange::Fixed(0.5) };
    let all = [MapRange::Head, MapRange::Layer, MapRange::All, MapRange::Unit, fixed];
    choice(ui, tr!("Range"), tr!("Which weight the colours' upper end stands for"), range, all, name);
    if let MapRange::Fixed(upper) = range {
        let drag = ui.add(egui::DragValue::new(upper).range(0.001..=1.0).speed(0.005).max_decimals(3));
        drag.on_hover_text(tr!("The weight at the upper end of the colours"));
    }
}
