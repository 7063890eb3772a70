//! Small controls that several places use.

use egui::{ComboBox, ThemePreference, Ui};

use crate::run::MapRange;

/// A drop-down list with its name before it.
pub fn choice<T: Copy + PartialEq, const N: usize>(
    ui: &mut Ui,
    name: &str,
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
    list.response.labelled_by(title.id);
}

pub fn choose_theme(ui: &mut Ui) {
    let before = ui.options(|options| options.theme_preference);
    let mut chosen = before;
    ui.menu_button("Theme", |ui| {
        for (theme, name) in [
            (ThemePreference::System, "As the system"),
            (ThemePreference::Light, "Light"),
            (ThemePreference::Dark, "Dark"),
        ] {
            ui.radio_value(&mut chosen, theme, name);
        }
    });
    if chosen != before {
        ui.ctx().set_theme(chosen);
    }
}

pub fn range_name(range: MapRange) -> &'static str {
    match range {
        MapRange::Head => "this head",
        MapRange::All => "all heads",
        MapRange::Unit => "0 to 1",
    }
}
