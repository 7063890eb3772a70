//! What a frame of the window costs, without the GPU: time, memory that is asked for, and memory that is held.
//!
//! `cargo bench --bench window`; a scripted engine gives the runs.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../tests/support/counting.rs"]
mod counting;
#[path = "../tests/support/stage.rs"]
mod stage;
#[path = "../tests/support/mod.rs"]
mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use counting::{asked, held};
use egui::accesskit::Role;
use egui_kittest::kittest::Queryable;
use headlight::engine::{Job, Outcome, Ran, Response};
use headlight::lab::{CellOrigin, Inside};
use headlight::run::{HeadId, Recipe, Run, Texts};
use stage::Stage;
use support::runs::{model_info, run_with};

/// One frame as the program makes it: the window's own work, and triangles of its shapes.
fn frame(stage: &mut Stage) -> (Duration, usize) {
    let (start, before) = (Instant::now(), asked());
    stage.harness.step();
    let output = stage.harness.output();
    let (shapes, scale) = (output.shapes.clone(), output.pixels_per_point);
    let triangles = stage.harness.ctx.tessellate(shapes, scale);
    std::hint::black_box(triangles);
    (start.elapsed(), asked() - before)
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn text(tokens: usize, word: &str) -> Texts {
    Texts::single(vec![word; tokens - 2].join(" "))
}

fn run(stage: &Stage, texts: &Texts) -> Run {
    // Weights like those of a model: a diagonal, a column, and some that are nearly nothing.
    run_with(&stage.info, &Arc::new(texts.clone()), |layer, head, query, key| {
        let noise = ((query * 31 + key * 17 + layer * 7 + head) % 97) as f32 / 9700.0;
        noise + if query.abs_diff(key) == (layer + head) % 4 { 1.0 } else { 0.0 } + if key == 0 { 0.4 } else { 0.0 }
    })
}

/// Answers the window's last question; gives the runs that it now holds.
fn answer(stage: &mut Stage, run: Arc<Run>) {
    stage.harness.step();
    for request in stage.requests() {
        let outcome = match request.job {
            Job::Load(_) => Outcome::Loaded(stage.info.clone()),
            Job::Forward(_) => Outcome::Run(Ran { plain: run.clone(), run: run.clone(), halves: None }),
            Job::Experiment(_) => continue,
        };
        stage.responses.send(Response::Done { id: request.id, outcome }).unwrap();
    }
}

/// Steps until nothing is being made on other threads any more.
fn settle(stage: &mut Stage) {
    for _ in 0..60 {
        frame(stage);
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Brings a view forward with something to show.
fn prepare(stage: &mut Stage, view: &str, texts: &Texts) {
    if view == "Compare" {
        stage.harness.key_press(egui::Key::C);
        stage.harness.step();
        stage.harness.get_by_role_and_label(Role::Button, "Layer 1, head 1").click();
        stage.harness.step();
    }
    if view == "Inside" {
        stage.harness.get_by_role_and_label(Role::Tab, "Map").click();
        settle(stage);
        let (plot, tokens) = (stage.heatmap().rect(), texts.a.split(' ').count() + 2);
        let pos = plot.min + plot.size() / tokens as f32 * 2.5;
        stage.harness.hover_at(pos);
        stage.harness.step();
        for pressed in [true, false] {
            let (button, modifiers) = (egui::PointerButton::Primary, egui::Modifiers::NONE);
            stage.harness.event(egui::Event::PointerButton { pos, button, pressed, modifiers });
        }
        stage.harness.step();
    }
    stage.harness.get_by_role_and_label(Role::Tab, view).click();
    stage.harness.step();
    stage.harness.step();
    for request in stage.requests() {
        let tokens = texts.a.split(' ').count() + 2;
        let origin = CellOrigin {
            spec: Inside { recipe: Recipe::plain(texts.clone()), head: HeadId::new(1, 1), query: 2, key: 2 },
            query: vec![0.5; 64],
            key: vec![0.5; 64],
            value: vec![0.5; 64],
            products: vec![1.0; tokens],
            scores: vec![0.125; tokens],
            weights: vec![1.0 / tokens as f32; tokens],
            added: vec![0.1; tokens],
            total: 1.0,
        };
        let outcome = Outcome::Experiment(Box::new(origin));
        stage.responses.send(Response::Done { id: request.id, outcome }).unwrap();
    }
    settle(stage);
    if view == "Inside" {
        assert!(stage.shows("q · k = "), "nothing is shown of the cell");
    }
}

fn main() {
    println!(
        "layers heads tokens | view     idle ms  at most | KB a frame | new run: longest ms, frames over 16.7 | held MB, of it weights"
    );
    for (layers, heads) in [(6, 12), (12, 12)] {
        for tokens in [16, 128, 512] {
            let before = held();
            let texts = text(tokens, "word");
            let mut stage = Stage::with_model(model_info(layers, heads), texts.clone());
            let first = Arc::new(run(&stage, &texts));
            answer(&mut stage, first);
            settle(&mut stage);
            for view in ["Map", "Lines", "Text", "Compare", "Inside"] {
                prepare(&mut stage, view, &texts);
                let frames: Vec<(Duration, usize)> = (0..60).map(|_| frame(&mut stage)).collect();
                let times: Vec<f64> = frames.iter().map(|(time, _)| milliseconds(*time)).collect();
                let longest = times.iter().copied().fold(0.0, f64::max);
                let asked = median(frames.iter().map(|(_, asked)| *asked as f64 / 1e3).collect());
                println!(
                    "{layers:6} {heads:5} {tokens:6} | {view:8} {:7.2} {longest:8.2} | {asked:10.0} |",
                    median(times)
                );
            }
            stage.harness.get_by_role_and_label(Role::Tab, "Map").click();
            settle(&mut stage);
            // A new text of as many tokens, as typing brings it.
            let other = text(tokens, "words");
            stage.text_box("Sentence").focus();
            stage.harness.step();
            stage.text_box("Sentence").type_text("s");
            let second = Arc::new(run(&stage, &other));
            answer(&mut stage, second);
            let frames: Vec<f64> = (0..40)
                .map(|_| {
                    let (time, _) = frame(&mut stage);
                    std::thread::sleep(Duration::from_millis(4));
                    milliseconds(time)
                })
                .collect();
            let over = frames.iter().filter(|time| **time > 16.7).count();
            let longest = frames.iter().copied().fold(0.0, f64::max);
            let megabytes = (held() - before) as f64 / 1e6;
            let weights = (layers * heads * tokens * tokens * 4) as f64 / 1e6;
            println!(
                "{layers:6} {heads:5} {tokens:6} | new run                   |            | {longest:7.2} {over:3} | {megabytes:7.1} {weights:7.1}"
            );
        }
    }
}
