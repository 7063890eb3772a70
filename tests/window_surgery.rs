//! Operating on heads in the window, with a scripted engine at the other end of its link.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

#[path = "support/stage.rs"]
mod stage;
mod support;

use std::sync::Arc;

use egui::accesskit::Role;
use egui::{Event, Modifiers, vec2};
use egui_kittest::kittest::Queryable;
use headlight::engine::{Outcome, Progress, Response};
use headlight::lab::{Importance, LeaveOneOut, Nearest, NearestOutcome, Neighbour, Target};
use headlight::run::Texts;
use ndarray::Array2;

use stage::Stage;

#[test]
fn space_and_ctrl_click_switch_heads_off_and_on_again() {
    let mut stage = Stage::with_text("the cat sat");
    stage.harness.key_press(egui::Key::Space);
    assert_eq!(stage.operate(), ["0.0=zero"]);
    assert!(stage.shows("off"));
    stage.harness.get_by_label("Layer 1, head 2").click_modifiers(Modifiers::COMMAND);
    assert_eq!(stage.operate(), ["0.0=zero", "1.2=zero"]);
    assert_eq!(stage.heatmap_name(), "Attention of layer 0, head 0, 5 × 5 tokens", "the chosen head stays");
    assert!(stage.shows("Layer 1, head 2, off") && stage.shows("2 edits"));
    stage.harness.key_press(egui::Key::Space);
    assert_eq!(stage.operate(), ["1.2=zero"]);
}

#[test]
fn space_in_a_text_box_is_a_space() {
    let mut stage = Stage::with_text("the");
    stage.text_box("Sentence").focus();
    stage.harness.run();
    stage.harness.event(Event::Text(" ".into()));
    stage.harness.key_press(egui::Key::Space);
    stage.harness.run();
    assert!(stage.answer().iter().all(|forward| forward.edits.is_empty()));
}

#[test]
fn every_change_can_be_undone_by_name_and_switched_without_being_lost() {
    let mut stage = Stage::with_text("the cat sat");
    stage.harness.key_press(egui::Key::Space);
    stage.operate();
    stage.harness.get_by_role_and_label(Role::CheckBox, "0.0=zero").click();
    assert!(stage.operate().is_empty(), "switched off");
    assert!(stage.harness.query_by_role_and_label(Role::CheckBox, "0.0=zero").is_some(), "and still in the list");
    stage.harness.key_press_modifiers(Modifiers::COMMAND, egui::Key::Z);
    assert_eq!(stage.operate(), ["0.0=zero"]);
    assert!(stage.shows("undone: switch off zero 0.0"));
    stage.harness.key_press_modifiers(Modifiers::COMMAND, egui::Key::Z);
    assert!(stage.operate().is_empty());
    assert!(stage.shows("undone: zero 0.0"));
    stage.harness.key_press_modifiers(Modifiers::COMMAND | Modifiers::SHIFT, egui::Key::Z);
    assert_eq!(stage.operate(), ["0.0=zero"]);
    stage.harness.get_by_label("History").click();
    stage.harness.run();
    assert!(stage.shows("1. zero 0.0"));
}

#[test]
fn shift_click_selects_heads_that_the_same_is_done_to() {
    let mut stage = Stage::with_text("the cat sat");
    let shift = |stage: &mut Stage, name: &str| {
        stage.harness.get_by_label(name).click_modifiers(Modifiers::SHIFT);
        stage.harness.run();
    };
    shift(&mut stage, "Layer 1, head 2");
    shift(&mut stage, "Layer 0, head 1");
    shift(&mut stage, "Layer 0, head 1");
    stage.harness.key_press(egui::Key::Space);
    assert_eq!(stage.operate(), ["0.0=zero", "1.2=zero"], "with the head that is looked at, without the one taken out");
    stage.harness.get_by_label("Layer 1, head 2, off").click_secondary();
    stage.harness.run();
    assert!(stage.shows("2 selected heads"));
    stage.harness.get_by_label("Uniform attention").click();
    assert_eq!(stage.operate(), ["0.0=zero", "1.2=zero", "0.0=uniform", "1.2=uniform"]);
    stage.harness.key_press_modifiers(Modifiers::COMMAND, egui::Key::Z);
    assert_eq!(stage.operate(), ["0.0=zero", "1.2=zero"], "one step");
    stage.harness.key_press(egui::Key::Escape);
    stage.harness.run();
    stage.harness.key_press(egui::Key::Space);
    assert_eq!(stage.operate(), ["1.2=zero"], "the chosen head alone");
}

#[test]
fn alt_click_cuts_an_edge() {
    let mut stage = Stage::with_text("the cat sat");
    let plot = stage.heatmap().rect();
    let pos = plot.min + plot.size() / 5.0 * vec2(0.5, 3.5); // sat → [CLS]
    let alt_click = |stage: &mut Stage| {
        stage.harness.hover_at(pos);
        stage.harness.run();
        for pressed in [true, false] {
            let (button, modifiers) = (egui::PointerButton::Primary, Modifiers::ALT);
            stage.harness.event_modifiers(Event::PointerButton { pos, button, pressed, modifiers }, modifiers);
        }
        stage.harness.run();
    };
    alt_click(&mut stage);
    assert_eq!(stage.operate(), ["0.0=cut:3>0"]);
    alt_click(&mut stage);
    assert!(stage.operate().is_empty(), "a second time joins it again");
}

#[test]
fn a_menu_offers_the_rest_for_heads_layers_and_columns() {
    let mut stage = Stage::with_text("the cat sat");
    let mut choose = |on: &str, entry: &str| {
        stage.harness.get_by_label(on).click_secondary();
        stage.harness.run();
        stage.harness.get_by_label(entry).click();
        stage.operate().pop().unwrap()
    };
    assert_eq!(choose("Layer 1, head 2", "Uniform attention"), "1.2=uniform");
    assert_eq!(choose("All heads of layer 0", "Mean of this text"), "0.*=mean");
    assert_eq!(choose("Head 1 of every layer", "Look only left (causal)"), "*.1=causal");
    let frozen =
        r#"0.0=freeze@run:{"texts":{"a":"the cat sat","b":null},"edits":["1.2=uniform","0.*=mean","*.1=causal"]}"#;
    assert_eq!(choose("Layer 0, head 0, edited", "Freeze this pattern"), frozen, "the pattern that is shown");
}

#[test]
fn b_shows_the_plain_model_and_the_edited_one_again() {
    let mut stage = Stage::with_text("the cat sat");
    stage.harness.get_by_label("Layer 1, head 0").click();
    stage.harness.run();
    stage.harness.key_press(egui::Key::Space);
    stage.operate();
    let weight = |stage: &mut Stage, shown: &str| {
        let plot = stage.heatmap().rect();
        // In layer 1, the plain head 0 looks one token away, the edited one two: here from “the” to “sat”.
        stage.harness.hover_at(plot.min + plot.size() / 5.0 * vec2(3.5, 1.5));
        stage.harness.run_steps(40);
        let seen = stage.shows(shown);
        stage.harness.hover_at(plot.min - vec2(200.0, 0.0));
        stage.harness.run_steps(10);
        seen
    };
    assert!(weight(&mut stage, "the → sat: 0.8333"));
    stage.harness.key_press(egui::Key::B);
    stage.harness.run();
    assert!(weight(&mut stage, "the → sat: 0.0233"));
    assert!(stage.requests().is_empty(), "the plain run was there already");
    stage.harness.key_press(egui::Key::B);
    stage.harness.run();
    assert!(weight(&mut stage, "the → sat: 0.8333"));
}

#[test]
fn the_grid_tells_how_far_each_head_moved() {
    let mut stage = Stage::with_text("the cat sat");
    stage.harness.key_press(egui::Key::Space);
    stage.operate();
    stage.until("how far each head moved from the plain model, the longest");
}

#[test]
fn the_output_of_the_plain_and_the_edited_model_stand_beside_each_other() {
    let mut stage = Stage::with_text("the cat");
    stage.text_box("Second sentence").focus();
    stage.harness.run();
    stage.text_box("Second sentence").type_text("a dog");
    stage.play();
    assert!(stage.shows("similarity of A and B: 1.0000"));
    stage.harness.get_by_label("Layer 0, head 1").click_modifiers(Modifiers::COMMAND);
    stage.operate();
    assert!(stage.shows("similarity of A and B: 1.0000 → 0.0000 (-1.0000)"));
    assert!(stage.shows("A with its plain vector: 1.0000, B: 0.0000"));
    assert!(stage.harness.query_by_label("Change of the hidden state").is_some());
}

#[test]
fn the_nearest_sentences_are_sought_with_progress_and_can_be_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sentences.txt");
    std::fs::write(&file, "one\n\ntwo\nthree\n").unwrap();
    let mut stage = Stage::with_text("the cat");
    stage.harness.get_by_label("Nearest sentences").click();
    stage.harness.run_steps(20);
    let name = "Text file, one sentence a line";
    stage.text_box(name).focus();
    stage.harness.run();
    stage.text_box(name).type_text(&format!("{}x", file.display()));
    stage.harness.run();
    stage.harness.get_by_role_and_label(Role::Button, "Find").click();
    stage.harness.run();
    assert!(stage.shows("cannot read"), "a file that is not there is told");
    stage.harness.key_press(egui::Key::Backspace);
    stage.text_box(name).focus();
    stage.harness.key_press(egui::Key::Backspace);
    stage.harness.run();
    stage.harness.get_by_role_and_label(Role::Button, "Find").click();
    stage.harness.run();
    let request = stage.requests().pop().expect("an experiment");
    assert!(format!("{request:?}").contains("nearest of 3 sentences"), "{request:?}");
    let progress = Progress::new(1, 3);
    stage.responses.send(Response::Progress { id: request.id, progress }).unwrap();
    stage.harness.step();
    assert!(stage.shows("1 of 3"));
    let spec = Nearest {
        query: "the cat".into(),
        sentences: Arc::new(vec!["one".into(), "two".into(), "three".into()]),
        edits: Vec::new(),
    };
    let near = |sentence, plain| Neighbour { sentence, plain, edited: plain };
    let outcome = NearestOutcome { spec, neighbours: vec![near(0, 0.1), near(1, 0.9), near(2, 0.5)] };
    stage.send(Response::Done { id: request.id, outcome: Outcome::Experiment(Box::new(outcome)) });
    assert!(stage.shows("0.9000  two") && stage.shows("0.5000  three") && !stage.shows("1 of 3"));
}

#[test]
fn heads_are_ranked_and_the_grid_shows_their_effects() {
    let mut stage = Stage::with_text("the cat");
    stage.harness.get_by_role_and_label(Role::Button, "Rank heads").click();
    stage.harness.run();
    let request = stage.requests().pop().expect("an experiment");
    assert!(format!("{request:?}").contains("leave-one-out on 1 texts"), "{request:?}");
    let spec = LeaveOneOut { examples: Arc::new(vec![Texts::single("the cat").into()]), target: Target::Own };
    let effect = Array2::from_shape_fn((2, 3), |(layer, head)| 0.1 * (layer * 3 + head) as f32);
    let found = Importance { spec, effect, interval: None, plain: 1.0 };
    stage.send(Response::Done { id: request.id, outcome: Outcome::Experiment(Box::new(found)) });
    assert!(stage.shows("what the cosine with the plain vector loses without each head"));
    stage.harness.get_by_label("Layer 1, head 1").hover();
    stage.harness.run_steps(40);
    assert!(stage.shows("effect +0.40000"));
    stage.text_box("Sentence").focus();
    stage.harness.run();
    stage.text_box("Sentence").type_text("!");
    stage.play();
    assert!(stage.shows("of an earlier text"));
}
