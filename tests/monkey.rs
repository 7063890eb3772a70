//! Ten thousand things at random: typing, clicking, dragging, resizing, switching models and views. Nothing may panic, get
//! stuck, or take more and more memory. The seed is printed; `HEADLIGHT_SEED` and `HEADLIGHT_EVENTS` set others.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

#[path = "support/counting.rs"]
mod counting;
#[path = "support/stage.rs"]
mod stage;
mod support;

use std::sync::Arc;

use counting::held;
use egui::{Event, ImeEvent, Key, Modifiers, MouseWheelUnit, PointerButton, Pos2, TouchPhase, pos2, vec2};
use egui_kittest::kittest::Queryable;
use headlight::engine::{Job, Outcome, Progress, Ran, RequestId, Response};
use headlight::run::{ModelInfo, Run, Texts};
use stage::Stage;
use support::runs::{model_info, run_of};

const WORDS: [&str; 12] = [
    "the ",
    "cat",
    " sat",
    " ",
    "你好",
    "שלום ",
    "مرحبا",
    "👩‍👩‍👧",
    "e\u{301}",
    "[MASK]",
    "a very long word that goes on ",
    "\u{202e}",
];

const KEYS: [Key; 24] = [
    Key::ArrowLeft,
    Key::ArrowRight,
    Key::ArrowUp,
    Key::ArrowDown,
    Key::PageUp,
    Key::PageDown,
    Key::Space,
    Key::Enter,
    Key::Escape,
    Key::Tab,
    Key::Backspace,
    Key::Delete,
    Key::Home,
    Key::End,
    Key::F1,
    Key::P,
    Key::C,
    Key::B,
    Key::K,
    Key::Z,
    Key::E,
    Key::S,
    Key::O,
    Key::A,
];

/// An engine that answers late, in turns, and not always well.
struct Engine {
    models: [Arc<ModelInfo>; 2],
    current: usize,
    waiting: Vec<(RequestId, Job)>,
    /// How many texts, models and experiments were asked for.
    heard: [usize; 3],
}

impl Engine {
    fn hear(&mut self, stage: &mut Stage) {
        for request in stage.requests() {
            self.heard[match request.job {
                Job::Forward(_) => 0,
                Job::Load(_) => 1,
                Job::Experiment(_) => 2,
            }] += 1;
            self.waiting.push((request.id, request.job));
        }
    }

    fn answer(&mut self, stage: &Stage, random: &mut fastrand::Rng) {
        let Some(last) = self.waiting.len().checked_sub(1) else { return };
        let (id, job) = self.waiting.remove(random.usize(0..=last.min(1)));
        let response = match job {
            _ if random.u8(0..12) == 0 => Response::Failed { id, cause: "this failed, as things do".into() },
            _ if random.u8(0..12) == 0 => Response::Cancelled { id },
            Job::Load(_) => {
                self.current = 1 - self.current;
                Response::Done { id, outcome: Outcome::Loaded(self.models[self.current].clone()) }
            }
            Job::Forward(recipe) => {
                let mut run = run_of(&self.models[self.current], &recipe.texts);
                let plain = Arc::new(run.clone());
                run.edits = recipe.edits;
                let run = if run.edits.is_empty() { plain.clone() } else { Arc::new(run) };
                Response::Done { id, outcome: Outcome::Run(Ran { run, plain, halves: None }) }
            }
            Job::Experiment(experiment) => {
                if random.bool() {
                    self.waiting.push((id, Job::Experiment(experiment)));
                    Response::Progress { id, progress: Progress::new(random.usize(0..9), 9) }
                } else {
                    Response::Failed { id, cause: "no experiment here".into() }
                }
            }
        };
        stage.responses.send(response).unwrap();
    }
}

fn somewhere(stage: &Stage, random: &mut fastrand::Rng) -> Pos2 {
    let size = stage.harness.ctx.content_rect().size();
    pos2(random.f32() * size.x, random.f32() * size.y)
}

fn modifiers(random: &mut fastrand::Rng) -> Modifiers {
    match random.u8(0..8) {
        0 => Modifiers::COMMAND,
        1 => Modifiers::SHIFT,
        2 => Modifiers::ALT,
        3 => Modifiers::COMMAND | Modifiers::SHIFT,
        _ => Modifiers::NONE,
    }
}

fn act(stage: &mut Stage, random: &mut fastrand::Rng) {
    let at = somewhere(stage, random);
    let held = modifiers(random);
    let press = |stage: &mut Stage, pos: Pos2, button, pressed| {
        stage.harness.event(Event::PointerButton { pos, button, pressed, modifiers: held });
    };
    match random.u8(0..100) {
        0..35 => {
            let button = if random.u8(0..6) == 0 { PointerButton::Secondary } else { PointerButton::Primary };
            stage.harness.event(Event::PointerMoved(at));
            for _ in 0..if random.u8(0..8) == 0 { 2 } else { 1 } {
                press(stage, at, button, true);
                press(stage, at, button, false);
            }
        }
        35..45 => {
            // What has a name is easier to hit by it.
            let nodes: Vec<Pos2> = stage
                .harness
                .query_all(egui_kittest::kittest::By::new().predicate(|node| {
                    [
                        egui::accesskit::Role::Button,
                        egui::accesskit::Role::CheckBox,
                        egui::accesskit::Role::Tab,
                        egui::accesskit::Role::ComboBox,
                    ]
                    .contains(&node.role())
                }))
                .map(|node| node.rect().center())
                .collect();
            if !nodes.is_empty() {
                let pos = nodes[random.usize(0..nodes.len())];
                stage.harness.event(Event::PointerMoved(pos));
                press(stage, pos, PointerButton::Primary, true);
                press(stage, pos, PointerButton::Primary, false);
            }
        }
        45..60 => {
            // Mostly into the sentence, else wherever the focus is.
            if random.bool() {
                stage.text_box("Sentence").focus();
                stage.harness.step();
            }
            stage.harness.event(Event::Text(WORDS[random.usize(0..WORDS.len())].to_owned()));
        }
        60..78 => {
            let key = KEYS[random.usize(0..KEYS.len())];
            stage.harness.key_press_modifiers(held, key);
        }
        78..86 => {
            let to = somewhere(stage, random);
            stage.harness.event(Event::PointerMoved(at));
            press(stage, at, PointerButton::Primary, true);
            stage.harness.step();
            stage.harness.event(Event::PointerMoved(at + (to - at) / 2.0));
            stage.harness.step();
            stage.harness.event(Event::PointerMoved(to));
            press(stage, to, PointerButton::Primary, false);
        }
        86..91 => {
            stage.harness.event(Event::PointerMoved(at));
            stage.harness.event(Event::MouseWheel {
                unit: MouseWheelUnit::Point,
                delta: vec2(0.0, random.f32() * 800.0 - 400.0),
                phase: TouchPhase::Move,
                source: egui::MouseWheelSource::Wheel,
                modifiers: if random.bool() { Modifiers::NONE } else { held },
            });
        }
        91..95 => drop(stage.harness.set_size(vec2(random.f32() * 1900.0 + 300.0, random.f32() * 1300.0 + 200.0))),
        95..97 => {
            stage.harness.event(Event::Ime(ImeEvent::Preedit { text: "ni".into(), active_range_chars: None }));
            stage.harness.step();
            stage.harness.event(Event::Ime(ImeEvent::Commit("你".into())));
        }
        97..98 => {
            // Another model, as from the menu of the last line or by a drop.
            let menu = stage.harness.query_all_by_label("scripted").next().map(|node| node.rect().center());
            if let Some(pos) = menu {
                stage.harness.event(Event::PointerMoved(pos));
                press(stage, pos, PointerButton::Primary, true);
                press(stage, pos, PointerButton::Primary, false);
                stage.harness.step();
                stage.harness.step();
            }
            let other = stage.harness.query_all_by_label("multilingual-other").next().map(|node| node.rect().center());
            if let Some(pos) = other {
                stage.harness.event(Event::PointerMoved(pos));
                press(stage, pos, PointerButton::Primary, true);
                press(stage, pos, PointerButton::Primary, false);
            }
        }
        98..99 => {
            stage.harness.key_press_modifiers(Modifiers::COMMAND, Key::K);
            stage.harness.step();
            stage
                .harness
                .event(Event::Text(["show", "sel", "rank", "prev", "1.1", "reset", "tour"][random.usize(0..7)].into()));
            stage.harness.step();
            stage.harness.key_press(Key::Enter);
        }
        _ => stage.harness.event(Event::PointerGone),
    }
}

/// How many bytes more may be held at the end than half way.
const LIMIT: usize = 40_000_000;

#[test]
fn ten_thousand_things_at_random() {
    let number = |name: &str, usual: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let mut random = support::seeded(number("HEADLIGHT_SEED", 33));
    let events = number("HEADLIGHT_EVENTS", 10_000);
    // What is exported or saved by chance lands here.
    let folder = tempfile::tempdir().unwrap();
    std::env::set_current_dir(folder.path()).unwrap();
    let models = [model_info(2, 3), model_info(3, 2)];
    let mut stage = Stage::with_model(models[0].clone(), Texts::single("the cat sat"));
    let mut engine = Engine { models, current: 1, waiting: Vec::new(), heard: [0; 3] };
    let (mut middle, mut most_work) = (0, 0);
    for event in 0..events {
        act(&mut stage, &mut random);
        stage.harness.step();
        engine.hear(&mut stage);
        if random.u8(0..3) > 0 {
            engine.answer(&stage, &mut random);
        }
        most_work = most_work.max(stage.harness.state().work_held());
        if event == events / 2 {
            stage.finish_work();
            middle = held();
        }
    }
    let [texts, models, experiments] = engine.heard;
    println!("{texts} texts, {models} models, {experiments} experiments");
    assert!(texts > events as usize / 100 && models > 3 && experiments > 3, "too little happened");
    // However slow the machine: two pieces of each kind, and a file now and then.
    assert!(most_work <= 24, "{most_work} pieces of work were held at once");
    stage.finish_work();
    // What egui keeps for some frames goes with them; what is kept for good stays.
    for _ in 0..300 {
        if held().saturating_sub(middle) < LIMIT {
            break;
        }
        stage.harness.step();
    }
    let grown = held().saturating_sub(middle);
    assert!(grown < LIMIT, "{} MB more than half way", grown / 1_000_000);
    assert_not_stuck(&mut stage, &mut engine);
}

/// A sentence that is typed is still shown.
fn assert_not_stuck(stage: &mut Stage, engine: &mut Engine) {
    stage.harness.set_size(vec2(1280.0, 760.0));
    stage.harness.event(Event::PointerGone);
    for _ in 0..6 {
        stage.harness.key_press(Key::Escape);
        stage.harness.step();
    }
    // A model that could not be opened is opened again from the menu of the last line.
    stage.text_box("Sentence").focus();
    stage.harness.step();
    stage.harness.key_press_modifiers(Modifiers::COMMAND, Key::A);
    stage.harness.step();
    stage.harness.event(Event::Text("all is well".to_owned()));
    let mut asked = None;
    for _ in 0..50 {
        stage.harness.step();
        engine.hear(stage);
        for (id, job) in engine.waiting.drain(..) {
            let outcome = match job {
                Job::Load(_) => Outcome::Loaded(engine.models[engine.current].clone()),
                Job::Forward(recipe) => {
                    asked = Some(recipe.texts.a.clone());
                    let run: Arc<Run> = Arc::new(run_of(&engine.models[engine.current], &recipe.texts));
                    Outcome::Run(Ran { plain: run.clone(), run, halves: None })
                }
                Job::Experiment(_) => continue,
            };
            stage.responses.send(Response::Done { id, outcome }).unwrap();
        }
    }
    assert!(asked.is_some_and(|text| text.ends_with("all is well")), "the text was not run");
    assert!(stage.shows("tokens"), "the picture of the text does not come");
}
