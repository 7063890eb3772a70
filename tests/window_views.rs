//! The window's views: what each shows, how they follow each other, and where they are put.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

#[path = "support/stage.rs"]
mod stage;
mod support;

use egui::Modifiers;
use egui::accesskit::{Role, Toggled};
use egui_kittest::kittest::{NodeT, Queryable};
use headlight::engine::{Job, Outcome, Response};
use headlight::lab::CellOrigin;
use headlight::run::{HeadId, Texts};

use stage::Stage;

fn click(stage: &mut Stage, role: Role, label: &str) {
    stage.harness.get_by_role_and_label(role, label).click();
    stage.harness.run();
}

/// Brings a view forward by its tab.
fn open(stage: &mut Stage, view: &str) {
    click(stage, Role::Tab, view);
}

/// Chooses an entry of a drop-down list.
fn choose(stage: &mut Stage, list: &str, entry: &str) {
    click(stage, Role::ComboBox, list);
    stage.harness.get_all_by_label(entry).last().unwrap().click();
    stage.harness.run();
}

fn select(stage: &mut Stage, head: &str, modifiers: Modifiers) {
    stage.harness.get_by_role_and_label(Role::Button, head).click_modifiers(modifiers);
    stage.harness.run();
}

#[test]
fn special_tokens_can_be_hidden_and_the_picture_says_so() {
    let mut stage = Stage::with_text("the cat sat");
    choose(&mut stage, "Special tokens", "hidden");
    assert_eq!(stage.heatmap_name(), "Attention of layer 0, head 0, 3 × 3 rows and columns");
    assert!(stage.shows("special tokens hidden: rows sum to less than 1"));
    choose(&mut stage, "Special tokens", "hidden, rows renormalised");
    assert!(stage.shows("special tokens hidden, rows renormalised"));
    assert!(stage.requests().is_empty(), "how a map is read asks nothing of the engine");
}

#[test]
fn colours_by_row_and_by_percentile_are_said_and_leave_the_range_out() {
    let mut stage = Stage::with_text("the cat sat");
    for (scale, note) in [
        ("by row", "colours by row: each row divided by its greatest weight"),
        ("percentile", "colours by percentile: by rank among all weights above 0"),
        ("square root", "square root colours"),
    ] {
        choose(&mut stage, "Colour scale", scale);
        assert!(stage.shows(note), "{scale}");
        let range = stage.harness.get_by_role_and_label(Role::ComboBox, "Range");
        assert_eq!(range.accesskit_node().is_disabled(), scale != "square root", "{scale}");
    }
    choose(&mut stage, "Colour scale", "by row");
    open(&mut stage, "Text");
    assert!(stage.shows("colours by row: each row divided by its greatest weight"));
    assert!(stage.requests().is_empty(), "how a map is coloured asks nothing of the engine");
}

#[test]
fn a_pair_is_shown_by_its_segments() {
    let mut stage = Stage::silent(Texts::pair("the cat", "a dog sat"));
    stage.play();
    choose(&mut stage, "Segments", "A → B");
    assert_eq!(stage.heatmap_name(), "Attention of layer 0, head 0, 4 × 4 rows and columns");
    choose(&mut stage, "Special tokens", "hidden");
    assert_eq!(stage.heatmap_name(), "Attention of layer 0, head 0, 2 × 3 rows and columns");
}

#[test]
fn every_view_follows_the_token_that_is_pinned() {
    let mut stage = Stage::with_text("the cat sat");
    open(&mut stage, "Text");
    assert!(stage.shows("How much each token is attended to"));
    // Head 0.0 looks at each token itself: 1 of 1 + 4 · 0.05.
    stage.harness.get_by_label("cat: 0.2000").click();
    stage.harness.run();
    assert!(stage.shows("What “cat” attends to, in layer 0, head 0"));
    assert!(stage.shows("cat: 0.8333") && stage.shows("sat: 0.0417"));
    open(&mut stage, "Lines");
    let pinned = |stage: &Stage, token: &str| {
        stage.harness.get_by_role_and_label(Role::Button, token).accesskit_node().toggled() == Some(Toggled::True)
    };
    assert!(pinned(&stage, "query 2: cat") && !pinned(&stage, "query 3: sat"));
    click(&mut stage, Role::Button, "key 3: sat");
    open(&mut stage, "Text");
    assert!(stage.shows("What attends to “sat”"));
    // Another click on the same token lets go of it.
    open(&mut stage, "Lines");
    click(&mut stage, Role::Button, "key 3: sat");
    open(&mut stage, "Text");
    assert!(stage.shows("How much each token is attended to"));
}

#[test]
fn a_label_of_the_map_pins_its_token() {
    let mut stage = Stage::with_text("the cat sat");
    let plot = stage.heatmap().rect();
    let beside = egui::pos2(plot.left() - 12.0, plot.top() + plot.height() * 0.5);
    stage.harness.hover_at(beside);
    stage.harness.run();
    for pressed in [true, false] {
        let (button, modifiers) = (egui::PointerButton::Primary, Modifiers::NONE);
        stage.harness.event(egui::Event::PointerButton { pos: beside, button, pressed, modifiers });
    }
    stage.harness.run();
    open(&mut stage, "Text");
    assert!(stage.shows("What “cat” attends to"));
}

#[test]
fn selected_heads_are_shown_as_one_map() {
    let mut stage = Stage::with_text("the cat");
    click(&mut stage, Role::Button, "All heads of layer 1");
    choose(&mut stage, "Show", "mean of selected");
    assert_eq!(stage.heatmap_name(), "Attention of mean of heads 1.0, 1.1, 1.2, 4 × 4 tokens");
    select(&mut stage, "Layer 0, head 1", Modifiers::SHIFT);
    choose(&mut stage, "Show", "maximum of selected");
    assert_eq!(stage.heatmap_name(), "Attention of max of heads 0.1, 1.0, 1.1, 1.2, 4 × 4 tokens");
    open(&mut stage, "Lines");
    for head in ["0.1", "1.2"] {
        assert!(stage.shows(head));
    }
    // Choosing one head ends it.
    click(&mut stage, Role::Button, "Layer 0, head 2");
    open(&mut stage, "Map");
    assert_eq!(stage.heatmap_name(), "Attention of layer 0, head 2, 4 × 4 tokens");
}

#[test]
fn two_heads_are_compared_and_the_comparison_is_exported() {
    let folder = tempfile::tempdir().unwrap();
    let mut stage = Stage::with_text("the cat sat");
    open(&mut stage, "Compare");
    assert!(stage.shows("Both sides are the same"));
    click(&mut stage, Role::Button, "Compare");
    click(&mut stage, Role::Button, "Layer 1, head 1");
    for text in ["A, 5 × 5", "B, 5 × 5", "A − B, 5 × 5", "Jensen–Shannon divergence: 0.4"] {
        assert!(stage.shows(text), "{text} is not shown");
    }
    click(&mut stage, Role::Button, "Export…");
    let file = folder.path().join("both.svg");
    let name = "File (.png or .svg)";
    stage.text_box(name).focus();
    stage.harness.run();
    stage.harness.key_press_modifiers(Modifiers::COMMAND, egui::Key::A);
    stage.harness.run();
    stage.text_box(name).type_text(file.to_str().unwrap());
    stage.harness.run();
    click(&mut stage, Role::Button, "Export");
    stage.until("written: ");
    let drawn = std::fs::read_to_string(&file).unwrap();
    for text in ["A − B", "layer 0, head 0", "layer 1, head 1", "Jensen–Shannon"] {
        assert!(drawn.contains(text), "{text} is not in the figure");
    }
    // What is behind another view is not what is exported.
    open(&mut stage, "Map");
    click(&mut stage, Role::Button, "Export…");
    assert!(stage.shows("Export picture") && !stage.shows("Export comparison"));
}

#[test]
fn a_run_that_is_pinned_is_compared_across_models() {
    let mut stage = Stage::with_text("the cat sat");
    click(&mut stage, Role::Button, "Layer 1, head 2");
    click(&mut stage, Role::Button, "Pin run");
    click(&mut stage, Role::Button, "scripted");
    click(&mut stage, Role::Button, "multilingual-other");
    // The other model has fewer heads, and a name of its own.
    let other = headlight::run::ModelInfo {
        name: "other".into(),
        folder: "models/other".into(),
        ..(*support::runs::model_info(1, 2)).clone()
    };
    stage.info = std::sync::Arc::new(other);
    stage.play(); // the model
    stage.play(); // then its text
    open(&mut stage, "Compare");
    assert!(stage.shows("A, 5 × 5") && stage.shows("B, 5 × 5") && stage.shows("A − B, 5 × 5"));
    assert!(stage.shows("Jensen–Shannon divergence: 0.") && !stage.shows("divergence: 0.0000"));
}

#[test]
fn another_text_is_compared_by_the_words_that_both_have() {
    let mut stage = Stage::with_text("the cat sat");
    click(&mut stage, Role::Button, "Pin run");
    stage.text_box("Sentence").focus();
    stage.harness.run();
    stage.harness.key_press_modifiers(Modifiers::COMMAND, egui::Key::A);
    stage.text_box("Sentence").type_text("the old cat slept");
    stage.play();
    open(&mut stage, "Compare");
    assert!(stage.shows("Only in A: sat. Only in B: old slept."));
    assert!(stage.shows("A, 5 × 5") && stage.shows("B, 6 × 6") && stage.shows("A − B, 4 × 4"));
}

#[test]
fn a_cell_that_is_clicked_is_explained_from_the_inside() {
    let mut stage = Stage::with_text("the cat sat");
    open(&mut stage, "Inside");
    assert!(stage.shows("Click a cell of the map"));
    open(&mut stage, "Map");
    let plot = stage.heatmap().rect();
    let cell = plot.min + plot.size() / 5.0 * egui::vec2(1.5, 2.5);
    stage.harness.hover_at(cell);
    stage.harness.run();
    for pressed in [true, false] {
        let (button, modifiers) = (egui::PointerButton::Primary, Modifiers::NONE);
        stage.harness.event(egui::Event::PointerButton { pos: cell, button, pressed, modifiers });
    }
    stage.harness.run();
    open(&mut stage, "Inside");
    assert!(stage.shows("“cat” → “the” in layer 0, head 0") && stage.shows("working it out"));
    let requests = stage.requests();
    let Job::Experiment(experiment) = &requests[0].job else { panic!("{requests:?}") };
    assert_eq!((requests.len(), experiment.name().as_str()), (1, "a look inside head 0.0"));
    let spec = headlight::lab::Inside {
        recipe: headlight::run::Recipe::plain(Texts::single("the cat sat")),
        head: HeadId::default(),
        query: 2,
        key: 1,
    };
    let origin = CellOrigin {
        spec,
        query: vec![1.0, 2.0, 0.0, -1.0],
        key: vec![1.0, 1.0, 3.0, 1.0],
        value: vec![0.5; 4],
        products: vec![0.0, 2.0, 1.0, 0.0, 0.0],
        scores: vec![0.0, 1.25, 0.5, 0.0, 0.0],
        weights: vec![0.1, 0.4, 0.3, 0.1, 0.1],
        added: vec![0.1, 0.8, 0.3, 0.1, 0.1],
        total: 1.1,
    };
    stage.send(Response::Done { id: requests[0].id, outcome: Outcome::Experiment(Box::new(origin)) });
    for text in
        ["q · k = 2.000", "+0.250 for the places", "score 1.250", "the: score 1.250, weight 0.4000, adds 0.8000"]
    {
        assert!(stage.shows(text), "{text} is not shown");
    }
    assert!(stage.requests().is_empty(), "what is known is not asked for again");
    click(&mut stage, Role::CheckBox, "÷ √4 = 1.000");
    assert!(stage.shows("score 2.250") && stage.shows("without the division"));
}

#[test]
fn the_grid_is_coloured_by_a_metric() {
    let mut stage = Stage::with_text("the cat sat");
    choose(&mut stage, "Colour by", "previous token");
    stage.until("the weight on the token before");
    stage.finish_work();
    // Head 0.1 looks one token away: 4 of 5 queries have one before them.
    let head = stage.harness.get_by_role_and_label(Role::Button, "Layer 0, head 1").rect().center();
    stage.harness.hover_at(head);
    stage.harness.run_steps(40);
    assert!(stage.shows("previous token: 0."), "no number is told");
}

#[test]
fn views_are_closed_brought_back_and_put_where_they_were() {
    let mut stage = Stage::with_text("the cat");
    let close = |stage: &mut Stage, view: &str| {
        click(stage, Role::Button, "View");
        click(stage, Role::CheckBox, view);
        stage.harness.key_press(egui::Key::Escape);
        stage.harness.run();
    };
    let shown = |stage: &Stage, view: &str| stage.harness.query_by_role_and_label(Role::Tab, view).is_some();
    close(&mut stage, "Output");
    assert!(!shown(&stage, "Output") && shown(&stage, "Edits"));
    close(&mut stage, "Output");
    assert!(shown(&stage, "Output"));
    close(&mut stage, "Map");
    assert!(!shown(&stage, "Map"));
    click(&mut stage, Role::Button, "View");
    click(&mut stage, Role::Button, "Reset layout");
    assert!(shown(&stage, "Map"));
}

#[test]
fn a_window_too_small_for_its_views_is_still_a_window() {
    let mut stage = Stage::with_text("the cat");
    for (width, height) in [(300.0, 120.0), (120.0, 700.0), (1280.0, 40.0), (1280.0, 760.0)] {
        stage.harness.set_size(egui::vec2(width, height));
        stage.harness.run();
    }
    assert_eq!(stage.heatmap_name(), "Attention of layer 0, head 0, 4 × 4 tokens");
}
