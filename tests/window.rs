//! The window, driven by role and label, with a scripted engine at the other end of its link.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

#[path = "support/stage.rs"]
mod stage;
mod support;

use std::sync::Arc;

use egui::accesskit::Role;
use egui::{Event, ImeEvent, Modifiers, MouseWheelUnit, TouchPhase, vec2};
use egui_kittest::kittest::{NodeT, Queryable};
use headlight::engine::{Job, Response};
use headlight::run::{Texts, TokenRange};
use support::runs::run_of;

use stage::Stage;

#[test]
fn opening_asks_for_the_model_and_then_for_the_text() {
    let mut stage = Stage::silent(Texts::pair("first", "second"));
    stage.harness.run();
    let requests = stage.requests();
    assert!(matches!(&requests[0].job, Job::Load(folder) if folder.ends_with("models/scripted")));
    assert!(matches!(&requests[1].job, Job::Forward(forward) if *forward.texts == Texts::pair("first", "second")));
    assert_eq!(requests.len(), 2);
    assert!(stage.shows("loading the model"));
}

#[test]
fn a_text_that_is_typed_becomes_a_picture_with_its_numbers_in_the_status_line() {
    let mut stage = Stage::with_text("");
    stage.text_box("Sentence").focus();
    stage.harness.run();
    stage.text_box("Sentence").type_text("the cat sat");
    let asked = stage.play();
    assert_eq!(asked.last(), Some(&Texts::single("the cat sat")));
    assert_eq!(stage.heatmap_name(), "Attention of layer 0, head 0, 5 × 5 tokens");
    for text in ["scripted", "5 tokens", "12.3 ms"] {
        assert!(stage.shows(text), "{text} is not shown");
    }
    stage.text_box("Second sentence").focus();
    stage.harness.run();
    stage.text_box("Second sentence").type_text("here");
    assert_eq!(stage.play().last(), Some(&Texts::pair("the cat sat", "here")));
    assert!(stage.shows("7 tokens"));
}

#[test]
fn an_input_methods_unfinished_syllables_are_not_run() {
    let mut stage = Stage::with_text("");
    stage.text_box("Sentence").focus();
    stage.harness.run();
    for syllables in ["n", "ni", "nih", "niha"] {
        stage.harness.event(Event::Ime(ImeEvent::Preedit { text: syllables.into(), active_range_chars: None }));
        stage.harness.run();
    }
    assert!(stage.requests().is_empty(), "a preedit was run");
    stage.harness.event(Event::Ime(ImeEvent::Commit("你好".into())));
    assert_eq!(stage.play(), [Texts::single("你好")]);
}

#[test]
fn the_last_picture_stays_marked_as_updating_until_the_newest_answer_comes() {
    let mut stage = Stage::with_text("one");
    stage.text_box("Sentence").focus();
    stage.harness.run();
    for letter in ["a", "b", "c"] {
        stage.text_box("Sentence").type_text(letter);
        stage.harness.run();
    }
    let requests = stage.requests();
    let ids: Vec<_> = requests.iter().map(|request| request.id).collect();
    assert_eq!(ids.len(), 3);
    assert!(stage.shows("updating") && stage.shows("3 tokens"));
    // An answer that is no longer wanted is dropped, even if it comes late.
    let old = run_of(&stage.info, &Arc::new(Texts::single("x y z w")));
    stage.done(ids[0], old);
    assert!(stage.shows("updating") && stage.shows("3 tokens"));
    let new = run_of(&stage.info, &Arc::new(Texts::single("a b")));
    stage.done(ids[2], new);
    assert!(!stage.shows("updating") && stage.shows("4 tokens"));
}

#[test]
fn a_click_on_a_thumbnail_shows_that_head() {
    let mut stage = Stage::with_text("the cat");
    let thumbnails: Vec<_> =
        stage.harness.query_all_by_role(Role::Button).filter_map(|node| node.accesskit_node().label()).collect();
    for name in ["Layer 0, head 0", "Layer 1, head 2"] {
        assert!(thumbnails.iter().any(|label| label == name), "{name}");
    }
    stage.harness.get_by_role_and_label(Role::Button, "Layer 1, head 2").click();
    stage.harness.run();
    assert_eq!(stage.heatmap_name(), "Attention of layer 1, head 2, 4 × 4 tokens");
    assert!(stage.requests().is_empty(), "choosing a head asks nothing of the engine");
}

#[test]
fn hovering_a_cell_tells_query_key_and_weight() {
    let mut stage = Stage::with_text("the cat sat");
    let plot = stage.heatmap().rect();
    // Head 0.0 looks at each token itself: 1 of 1 + 4 · 0.05.
    let cell = plot.size() / 5.0;
    stage.harness.hover_at(plot.min + cell * vec2(2.5, 2.5));
    stage.harness.run_steps(40);
    assert!(stage.shows("cat → cat: 0.8333"));
    stage.harness.hover_at(plot.min + cell * vec2(1.5, 3.5));
    stage.harness.run_steps(40);
    assert!(stage.shows("sat → the: 0.0417"));
}

#[test]
fn where_a_pixel_has_the_colour_of_another_cell_that_one_is_told_too() {
    // Head 0.0 looks at each token itself: 802 cells along a side, more than the window has pixels for.
    let mut stage = Stage::with_text(&"word ".repeat(800));
    let plot = stage.heatmap().rect();
    assert!(plot.width() * stage.harness.ctx.pixels_per_point() < 700.0, "{plot:?}");
    let told = (0..12).any(|half| {
        stage.harness.hover_at(plot.min + plot.size() * 0.4 + vec2(half as f32 / 2.0 - 3.0, 0.0));
        stage.harness.run_steps(40);
        let about = "word → word: 0.0012\nthis pixel's colour, the largest under it: word → word: 0.0244";
        stage.shows(about)
    });
    assert!(told, "the pixels beside the diagonal tell nothing of it");
}

#[test]
fn the_wheel_zooms_and_whole_map_goes_back() {
    let mut stage = Stage::with_text(&"word ".repeat(60));
    let whole =
        |stage: &Stage| stage.harness.get_by_role_and_label(Role::Button, "Whole map").accesskit_node().is_disabled();
    assert!(whole(&stage));
    stage.harness.hover_at(stage.heatmap().rect().center());
    stage.harness.run();
    stage.harness.event(Event::MouseWheel {
        unit: MouseWheelUnit::Point,
        delta: vec2(0.0, 300.0),
        phase: TouchPhase::Move,
        source: egui::MouseWheelSource::Wheel,
        modifiers: Modifiers::NONE,
    });
    stage.harness.run_steps(40);
    assert!(!whole(&stage), "the wheel did not zoom");
    // What is copied is what is shown.
    let middle = stage.heatmap().rect().center();
    right_click(&mut stage, middle);
    let command = choose(&mut stage, "Copy command");
    let option = |name: &str| {
        let rest = command.split_once(name).expect("the option").1;
        let range: TokenRange = rest.split(' ').next().unwrap().trim_matches('\'').parse().unwrap();
        range.end - range.start
    };
    for name in ["--queries ", "--keys "] {
        assert!((4..62).contains(&option(name)), "{command}");
    }
    stage.harness.run();
    stage.harness.get_by_role_and_label(Role::Button, "Whole map").click();
    stage.harness.run();
    assert!(whole(&stage));
}

fn right_click(stage: &mut Stage, pos: egui::Pos2) {
    stage.harness.hover_at(pos);
    stage.harness.run();
    for pressed in [true, false] {
        let (button, modifiers) = (egui::PointerButton::Secondary, Modifiers::NONE);
        stage.harness.event(Event::PointerButton { pos, button, pressed, modifiers });
    }
    stage.harness.run();
}

/// Chooses an entry of the menu, and gives the text that it puts on the clipboard.
fn choose(stage: &mut Stage, entry: &str) -> String {
    stage.harness.get_by_label(entry).click();
    for _ in 0..5 {
        stage.harness.step();
        if let [text] = stage.copied().as_slice() {
            return text.clone();
        }
    }
    panic!("{entry} copied nothing");
}

#[test]
fn a_right_click_copies_the_row_and_the_command() {
    let mut stage = Stage::with_text("it didn't sit");
    let plot = stage.heatmap().rect();
    let second_row = plot.min + plot.size() * vec2(0.5, 0.3);
    right_click(&mut stage, second_row);
    let row = choose(&mut stage, "Copy row as TSV");
    let lines: Vec<Vec<&str>> = row.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(lines[0], ["query", "[CLS]", "it", "didn't", "sit", "[SEP]"]);
    assert_eq!(lines[1][0], "it");
    let weights: Vec<f32> = lines[1][1..].iter().map(|number| number.parse().unwrap()).collect();
    assert!((weights.iter().sum::<f32>() - 1.0).abs() < 1e-5 && weights[1] > 0.8, "{weights:?}");
    stage.harness.run();
    right_click(&mut stage, second_row);
    let command = choose(&mut stage, "Copy command");
    assert_eq!(
        command,
        "headlight heatmap --percent-encoded --model models/scripted --text 'it didn%27t sit' --head '0.0' \
         --out layer0-head00.png"
    );
}

#[test]
fn what_is_shown_is_exported_under_the_path_that_is_typed() {
    let folder = tempfile::tempdir().unwrap();
    let mut stage = Stage::with_text("the cat");
    stage.harness.get_by_label("Export…").click();
    stage.harness.run();
    let export = |stage: &mut Stage, path: &std::path::Path| {
        let name = "File (.png or .svg)";
        stage.text_box(name).focus();
        stage.harness.run();
        stage.harness.key_press_modifiers(Modifiers::COMMAND, egui::Key::A);
        stage.harness.run();
        stage.text_box(name).type_text(path.to_str().unwrap());
        stage.harness.run();
        stage.harness.get_by_role_and_label(Role::Button, "Export").click();
        stage.harness.run();
    };
    // The field has the focus: Enter takes its path.
    assert!(stage.text_box("File (.png or .svg)").is_focused());
    export(&mut stage, &folder.path().join("x.bmp"));
    stage.until("end it with .png or .svg");
    let file = folder.path().join("x.png");
    export(&mut stage, &file);
    stage.until("written: ");
    assert!(std::fs::read(&file).unwrap().starts_with(b"\x89PNG"));
    assert!(stage.harness.query_by_label("Export picture").is_none(), "the dialog stays open");
}

#[test]
fn trouble_is_told_and_the_window_goes_on() {
    let mut stage = Stage::with_text("fine");
    stage.text_box("Sentence").focus();
    stage.harness.run();
    stage.text_box("Sentence").type_text("!");
    stage.harness.run();
    let id = stage.requests()[0].id;
    stage.send(Response::Failed { id, cause: "libtorch: out of memory".into() });
    assert!(stage.shows("out of memory") && !stage.shows("updating"));
    assert!(stage.shows("3 tokens"), "the last picture is gone");
    stage.text_box("Sentence").type_text("!");
    stage.play();
    assert!(!stage.shows("out of memory"));
}

#[test]
fn a_model_that_cannot_be_opened_leaves_its_cause_in_view() {
    let mut stage = Stage::silent(Texts::single("text"));
    stage.harness.run();
    let ids: Vec<_> = stage.requests().iter().map(|request| request.id).collect();
    stage.send(Response::Failed { id: ids[0], cause: "models/scripted has no weights".into() });
    stage.send(Response::Failed { id: ids[1], cause: "no model is open".into() });
    assert!(stage.shows("has no weights") && stage.shows("no picture yet"));
}

#[test]
fn notices_of_a_run_stand_above_its_picture() {
    let mut stage = Stage::with_text("a");
    stage.text_box("Sentence").focus();
    stage.harness.run();
    stage.text_box("Sentence").type_text(" [UNK] [UNK]");
    stage.play();
    assert!(stage.shows("2 of 3 pieces are [UNK]"));
}

#[test]
fn with_nothing_going_on_the_window_does_not_repaint() {
    let mut stage = Stage::with_text("the cat");
    stage.harness.run();
    let delay = stage.harness.output().viewport_output.values().map(|viewport| viewport.repaint_delay).min();
    assert!(delay.is_none_or(|delay| delay > std::time::Duration::from_secs(3600)), "{delay:?}");
}

#[test]
fn examples_are_one_click_away_and_the_chinese_one_offers_a_model_that_reads_it() {
    let mut stage = Stage::with_text("");
    assert!(stage.shows("Type a sentence above, or take one"));
    stage.harness.get_by_role_and_label(Role::Button, "Negation").click();
    assert!(stage.play()[0].a.contains("not good"));
    assert!(!stage.shows("Type a sentence above, or take one"));
    let choose = |stage: &mut Stage, example: &str| {
        stage.harness.get_by_role_and_label(Role::Button, "Examples").click();
        stage.harness.run();
        stage.harness.get_by_role_and_label(Role::Button, example).click();
        stage.harness.run();
    };
    choose(&mut stage, "Sentence pair");
    assert_eq!(stage.play(), [Texts::pair("How old are you?", "What is your age?")]);
    choose(&mut stage, "Chinese");
    let chinese = stage.play().pop().unwrap();
    assert!(chinese.b.is_none() && chinese.a.contains('猫'), "{chinese:?}");
    choose(&mut stage, "Chinese, with multilingual-other");
    let requests = stage.requests();
    assert!(matches!(&requests[0].job, Job::Load(folder) if folder.ends_with("models/other")), "{requests:?}");
}
