//! The window, driven by role and label, with a scripted engine at the other end of its link.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

mod support;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use egui::accesskit::Role;
use egui::{Event, ImeEvent, Modifiers, MouseWheelUnit, OutputCommand, TouchPhase, vec2};
use egui_kittest::kittest::{NodeT, Queryable};
use egui_kittest::{Harness, Node};
use headlight::engine::{Command, Forward, Half, Job, Link, Outcome, Progress, Ran, Request, RequestId, Response};
use headlight::gui::{HeadlightApp, Opening};
use headlight::lab::{Importance, LeaveOneOut, Nearest, NearestOutcome, Neighbour, Target};
use headlight::run::{Embedding, ModelInfo, Pooling, Run, Texts, TokenRange};
use ndarray::Array2;
use support::runs::{model_info, run_of, run_with};

/// Both sides: the window, and the engine that the test plays.
struct Stage {
    harness: Harness<'static, HeadlightApp>,
    commands: Receiver<Command>,
    responses: Sender<Response>,
    info: Arc<ModelInfo>,
}

impl Stage {
    /// A window that has asked for its model, and not heard of it yet.
    fn silent(texts: Texts) -> Self {
        let (commands, from_window) = channel();
        let (responses, to_window) = channel();
        let opening = Opening { texts, model: Ok("models/scripted".into()) };
        let harness = Harness::builder()
            .with_size(vec2(1280.0, 720.0))
            .allow_missing_glyphs()
            .build_eframe(move |_| HeadlightApp::new(Link::new(commands, to_window), opening));
        Self { harness, commands: from_window, responses, info: model_info(2, 3) }
    }

    /// A window with a model and the picture of a text.
    fn with_text(text: &str) -> Self {
        let mut stage = Self::silent(Texts::single(text));
        stage.play();
        stage
    }

    /// What the window has sent since the last call.
    fn requests(&mut self) -> Vec<Request> {
        let submitted = |command| match command {
            Command::Submit(request) => Some(request),
            Command::Cancel(_) => None,
        };
        self.commands.try_iter().filter_map(submitted).collect()
    }

    fn send(&mut self, response: Response) {
        self.responses.send(response).unwrap();
        self.harness.run();
    }

    fn done(&mut self, id: RequestId, run: Run) {
        let run = Arc::new(run);
        self.send(Response::Done { id, outcome: Outcome::Run(Ran { plain: run.clone(), run, halves: None }) });
    }

    /// Answers everything as a real engine would, the last text alone being run. Gives the texts that were asked for.
    fn play(&mut self) -> Vec<Texts> {
        self.harness.run();
        self.answer().into_iter().map(|forward| (*forward.texts).clone()).collect()
    }

    /// As `play`, and gives the edits that were asked for last.
    fn operate(&mut self) -> Vec<String> {
        self.harness.run();
        let last = self.answer().pop().expect("something was asked for");
        last.edits.iter().map(ToString::to_string).collect()
    }

    fn answer(&mut self) -> Vec<Forward> {
        let mut asked: Vec<(RequestId, Forward)> = Vec::new();
        for Request { id, job } in self.requests() {
            match job {
                Job::Load(_) => self.send(Response::Done { id, outcome: Outcome::Loaded(self.info.clone()) }),
                Job::Forward(forward) => asked.push((id, forward)),
                Job::Experiment(_) => panic!("the window asked for an experiment"),
            }
        }
        if let Some(((id, forward), replaced)) = asked.split_last() {
            for (id, _) in replaced {
                self.send(Response::Cancelled { id: *id });
            }
            let plain = Arc::new(run_of(&self.info, &forward.texts));
            // An edited run looks elsewhere in its last layer, so that it can be told from the plain one.
            let edited = run_with(&self.info, &forward.texts, |layer, head, query, key| {
                let distance = if layer == 1 { head + 2 } else { head };
                if query.abs_diff(key) == distance { 1.0 } else { 0.05 }
            });
            let run = if forward.edits.is_empty() {
                plain.clone()
            } else {
                Arc::new(Run { edits: forward.edits.clone(), ..edited })
            };
            // Both halves are alike in the plain model, and at a right angle in the edited one.
            let vector = |values: [f32; 2]| Embedding { values: values.to_vec().into(), pooling: Pooling::default() };
            let half = |edited| Half { plain: vector([1.0, 0.0]), edited: vector(edited) };
            let edited = if forward.edits.is_empty() { [1.0, 0.0] } else { [0.0, 1.0] };
            let halves = forward.texts.b.as_ref().map(|_| Box::new([half([1.0, 0.0]), half(edited)]));
            self.send(Response::Done { id: *id, outcome: Outcome::Run(Ran { run, plain, halves }) });
        }
        asked.into_iter().map(|(_, forward)| forward).collect()
    }

    /// Steps until a text is shown: for what is made on another thread, however long that takes.
    fn until(&mut self, text: &str) {
        for _ in 0..600 {
            self.harness.step();
            if self.shows(text) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        panic!("{text:?} never came");
    }

    fn text_box<'a>(&'a self, name: &'a str) -> Node<'a> {
        self.harness.get_by_role_and_label(Role::TextInput, name)
    }

    fn shows(&self, text: &str) -> bool {
        self.harness.query_all_by_label_contains(text).next().is_some()
    }

    fn heatmap(&self) -> Node<'_> {
        self.harness.get_by(|node| {
            node.role() == Role::Image && node.label().is_some_and(|label| label.starts_with("Attention of"))
        })
    }

    fn heatmap_name(&self) -> String {
        self.heatmap().accesskit_node().label().unwrap_or_default()
    }

    /// What was put on the clipboard in the last frame.
    fn copied(&self) -> Vec<String> {
        let commands = &self.harness.output().platform_output.commands;
        let text = |command: &OutputCommand| match command {
            OutputCommand::CopyText(text) => Some(text.clone()),
            _ => None,
        };
        commands.iter().filter_map(text).collect()
    }
}

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
        let range: TokenRange = rest.split(' ').next().unwrap().parse().unwrap();
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
        r"headlight heatmap --model models/scripted --text 'it didn'\''t sit' --head 0.0 --out layer0-head00.png"
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
    assert_eq!(choose("Layer 0, head 0, edited", "Freeze this pattern"), "0.0=freeze@text:the cat sat");
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
    let progress = Progress { done: 1, total: 3 };
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
    let spec = LeaveOneOut { texts: Arc::new(vec![Texts::single("the cat")]), target: Target::Own };
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
