//! What can be done by name and by key, what can be taken back, and what is kept.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

#[path = "support/stage.rs"]
mod stage;
mod support;

use egui::accesskit::Role;
use egui::{Key, Modifiers};
use egui_kittest::kittest::{NodeT, Queryable};
use headlight::run::Texts;

use stage::{Kept, Stage};

fn press(stage: &mut Stage, key: Key) {
    stage.harness.key_press(key);
    stage.harness.run();
}

fn press_with(stage: &mut Stage, modifiers: Modifiers, key: Key) {
    stage.harness.key_press_modifiers(modifiers, key);
    stage.harness.run();
}

fn head(stage: &Stage) -> String {
    let name = stage.heatmap_name();
    name.trim_start_matches("Attention of ").split(", 4 ×").next().unwrap().to_owned()
}

fn pause(stage: &mut Stage) {
    stage.harness.run_steps(8);
}

#[test]
fn arrows_and_page_keys_go_through_heads_and_stop_at_the_edge() {
    let mut stage = Stage::with_text("the cat");
    for (key, wanted) in [
        (Key::ArrowRight, "layer 0, head 1"),
        (Key::ArrowRight, "layer 0, head 2"),
        (Key::ArrowRight, "layer 0, head 2"),
        (Key::PageDown, "layer 1, head 2"),
        (Key::PageDown, "layer 1, head 2"),
        (Key::ArrowLeft, "layer 1, head 1"),
        (Key::ArrowUp, "layer 0, head 1"),
        (Key::ArrowUp, "layer 0, head 1"),
        (Key::ArrowDown, "layer 1, head 1"),
    ] {
        press(&mut stage, key);
        assert_eq!(head(&stage), wanted, "after {key:?}");
    }
}

#[test]
fn keys_are_letters_while_a_text_box_has_the_focus() {
    let mut stage = Stage::with_text("");
    stage.text_box("Sentence").focus();
    stage.harness.run();
    stage.text_box("Sentence").type_text("pc b");
    for key in [Key::ArrowLeft, Key::ArrowRight, Key::Space, Key::P, Key::C, Key::B] {
        press(&mut stage, key);
    }
    assert_eq!(stage.operate(), Vec::<String>::new());
    assert!(!stage.shows("run pinned") && head(&stage).starts_with("layer 0, head 0"));
}

#[test]
fn the_palette_finds_a_command_or_a_head() {
    let mut stage = Stage::with_text("the cat");
    let mut find = |typed: &str| {
        press_with(&mut stage, Modifiers::COMMAND, Key::K);
        stage.text_box("Find").type_text(typed);
        stage.harness.run();
        press(&mut stage, Key::Enter);
        assert!(stage.harness.query_by_role_and_label(Role::TextInput, "Find").is_none(), "it stays open");
        stage.harness.run();
        (head(&stage), stage.shows("Both sides are the same"))
    };
    assert_eq!(find("1.2").0, "layer 1, head 2");
    assert_eq!(find("previous lay").0, "layer 0, head 2");
    assert!(stage_shows_messages(&mut stage));
}

/// The palette lists what can be done now; a command that cannot is not in it.
fn stage_shows_messages(stage: &mut Stage) -> bool {
    press_with(stage, Modifiers::COMMAND, Key::K);
    let listed = |stage: &Stage, name: &str| stage.harness.query_all_by_label_contains(name).count() > 0;
    let has = listed(stage, "Show Compare") && !listed(stage, "End selection");
    press(stage, Key::Escape);
    has && !listed(stage, "Show Compare")
}

#[test]
fn every_command_can_be_done_at_any_time() {
    for texts in [Texts::single(""), Texts::pair("the cat", "sat")] {
        let mut stage = Stage::silent(texts);
        stage.play();
        press_with(&mut stage, Modifiers::COMMAND, Key::K);
        let rows: Vec<String> = stage
            .harness
            .query_all_by_role(Role::Button)
            .filter_map(|node| node.accesskit_node().label())
            .filter(|label| {
                !label.starts_with("Layer") && !label.starts_with("Head") && !label.starts_with("All heads")
            })
            .collect();
        press(&mut stage, Key::Escape);
        assert!(rows.len() > 20, "{rows:?}");
        for row in rows {
            // Each in a window of its own state: what one opens may cover another.
            press_with(&mut stage, Modifiers::COMMAND, Key::K);
            let name = row.split("   ").next().unwrap().to_owned();
            stage.text_box("Find").type_text(&name);
            stage.harness.run();
            press(&mut stage, Key::Enter);
            press(&mut stage, Key::Escape);
            stage.harness.run();
            // What a command asks of the engine is answered elsewhere.
            stage.requests();
        }
        assert!(stage.harness.query_by_label_contains("internal fault").is_none());
    }
}

#[test]
fn text_view_selection_and_edits_are_taken_back_in_their_order() {
    let mut stage = Stage::with_text("the cat");
    stage.harness.run();
    stage.text_box("Sentence").focus();
    stage.harness.run();
    stage.text_box("Sentence").type_text(" sat");
    stage.play();
    press(&mut stage, Key::Escape);
    stage.harness.get_by_role_and_label(Role::Button, "Layer 1, head 1").click();
    stage.harness.run();
    pause(&mut stage);
    press(&mut stage, Key::Space);
    assert_eq!(stage.operate(), ["1.1=zero"]);
    let undo = |stage: &mut Stage| press_with(stage, Modifiers::COMMAND, Key::Z);
    undo(&mut stage);
    assert_eq!(stage.operate(), Vec::<String>::new());
    assert!(stage.heatmap_name().contains("layer 1, head 1"));
    undo(&mut stage);
    assert!(stage.heatmap_name().contains("layer 0, head 0") && stage.shows("undone: head"));
    undo(&mut stage);
    assert_eq!(stage.play(), [Texts::single("the cat")]);
    for _ in 0..3 {
        press_with(&mut stage, Modifiers::COMMAND | Modifiers::SHIFT, Key::Z);
    }
    assert_eq!(stage.operate(), ["1.1=zero"]);
    assert!(stage.heatmap_name().contains("layer 1, head 1, 5 × 5"));
}

#[test]
fn messages_go_by_and_can_be_read_again() {
    let mut stage = Stage::with_text("the cat");
    press(&mut stage, Key::P);
    assert!(stage.shows("run pinned"));
    stage.harness.run_steps(60);
    assert!(!stage.shows("run pinned"), "the message stays");
    stage.harness.get_by_role_and_label(Role::Button, "Messages").click();
    stage.harness.run();
    assert!(stage.shows("run pinned"));
}

#[test]
fn keys_are_listed() {
    let mut stage = Stage::with_text("the cat");
    press(&mut stage, Key::F1);
    for text in ["Ctrl+E", "Switch head off or on", "Alt + click"] {
        assert!(stage.shows(text), "{text} is not listed");
    }
    press(&mut stage, Key::Escape);
    assert!(!stage.shows("Alt + click"));
}

#[test]
fn the_next_window_looks_as_the_last_one_did() {
    let mut kept = Kept::default();
    let mut stage = Stage::with_text("the cat");
    stage.harness.get_by_role_and_label(Role::ComboBox, "Special tokens").click();
    stage.harness.run();
    stage.harness.get_all_by_label("hidden").last().unwrap().click();
    stage.harness.run();
    stage.harness.get_by_role_and_label(Role::Button, "View").click();
    stage.harness.run();
    stage.harness.get_by_role_and_label(Role::CheckBox, "Output").click();
    stage.harness.run();
    press(&mut stage, Key::Escape);
    stage.harness.get_by_role_and_label(Role::Button, "Examples").click();
    stage.harness.run();
    stage.harness.get_by_role_and_label(Role::Button, "Negation").click();
    stage.play();
    eframe::App::save(stage.harness.state_mut(), &mut kept);

    let mut next = Stage::after(Some(&kept), Texts::single("a dog sat"));
    next.play();
    assert_eq!(next.heatmap_name(), "Attention of layer 0, head 0, 3 × 3 rows and columns");
    assert!(next.harness.query_by_role_and_label(Role::Tab, "Output").is_none());
    next.harness.get_by_role_and_label(Role::Button, "Examples").click();
    next.harness.run();
    next.harness.get_by_role_and_label(Role::Button, "the cat").click();
    assert_eq!(next.play(), [Texts::single("the cat")]);
    // What another version kept is no reason to fail.
    for broken in ["", "(", "[(1, 2)]"] {
        let mut other = Kept::default();
        for key in kept.0.keys() {
            other.0.insert(key.clone(), broken.to_owned());
        }
        let mut stage = Stage::after(Some(&other), Texts::single("the cat"));
        stage.play();
        assert!(stage.heatmap_name().contains("4 × 4 tokens"));
    }
}

#[test]
fn the_first_window_offers_a_tour_and_the_next_one_does_not() {
    let mut kept = Kept::default();
    let mut stage = Stage::after(Some(&kept), Texts::single(""));
    stage.play();
    assert!(stage.shows("1 of 6: A sentence"));
    stage.harness.get_by_role_and_label(Role::Button, "Take an example").click();
    assert!(stage.play()[0].a.contains("animal"));
    stage.harness.run();
    assert!(stage.shows("2 of 6: A cell"));
    for title in ["3 of 6", "4 of 6: A head", "5 of 6", "6 of 6: Switching one off"] {
        stage.harness.get_by_role_and_label(Role::Button, "Next").click();
        stage.harness.run();
        assert!(stage.shows(title), "{title}");
    }
    stage.harness.get_by_role_and_label(Role::Button, "Glossary").click();
    stage.harness.run();
    assert!(stage.shows("Softmax") && stage.shows("Turns a row of scores"));
    stage.harness.get_by_role_and_label(Role::Button, "Done").click();
    stage.harness.run();
    eframe::App::save(stage.harness.state_mut(), &mut kept);
    let mut next = Stage::after(Some(&kept), Texts::single("a"));
    next.play();
    assert!(!next.shows("1 of 6"));
}

#[test]
fn the_theme_is_chosen_and_holds() {
    let mut stage = Stage::with_text("the cat");
    for (name, dark) in [("Dark", true), ("Light", false)] {
        stage.harness.get_by_role_and_label(Role::Button, "Theme").click();
        stage.harness.run();
        stage.harness.get_by_label(name).click();
        stage.harness.run();
        assert_eq!(stage.harness.ctx.global_style().visuals.dark_mode, dark, "{name}");
        press(&mut stage, Key::Escape);
    }
}
