//! Small controls that several places use.

use egui::{ComboBox, ThemePreference, Ui};

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

/// Which weight the colours' upper end stands for.
pub fn choose_range(ui: &mut Ui, range: &mut MapRange) {
    let name = |range: MapRange| match range {
        MapRange::Head => "this head",
        MapRange::Layer => "this layer",
        MapRange::All => "all heads",
        MapRange::Unit => "0 to 1",
        MapRange::Fixed(_) => "fixed",
    };
    let fixed = if let MapRange::Fixed(_) = range { *range } else { MapRange::Fixed(0.5) };
    let all = [MapRange::Head, MapRange::Layer, MapRange::All, MapRange::Unit, fixed];
    choice(ui, "Range", "Which weight the colours' upper end stands for", range, all, name);
    if let MapRange::Fixed(upper) = range {
        let drag = ui.add(egui::DragValue::new(upper).range(0.001..=1.0).speed(0.005).max_decimals(3));
        drag.on_hover_text("The weight at the upper end of the colours");
    }
}
