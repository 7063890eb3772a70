//! Wall-clock of operating on heads: from toggling one head to the new picture's numbers, and leave-one-out over all
//! heads beside calling the plain forward as often.
//!
//! `cargo bench --bench surgery`

mod support;

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use egui::accesskit::Role;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use headlight::engine::{Experiment, Job, Link, Options, Outcome, RequestId, Response, spawn};
use headlight::gui::{HeadlightApp, Opening};
use headlight::lab::{LeaveOneOut, Target};
use headlight::model::{Model, find_model};
use headlight::run::{Recipe, Texts};
use support::spread;

const ROUNDS: usize = 21;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = find_model(None)?;
    let link = spawn(Options::default(), || ());
    finish(&link, link.load(folder.clone()))?;
    let model = Model::open(&folder)?;
    for tokens in [16, 128, 512] {
        let words = ["the", "animal", "cross", "street", "because", "it", "was", "too"];
        let text = words.into_iter().cycle().take(tokens - 2).collect::<Vec<_>>().join(" ");
        toggles(&link, &text, tokens)?;
        in_window(&folder, &text, tokens)?;
        leave_one_out(&model, &text, tokens)?;
    }
    Ok(())
}

/// From sending the request to having the run, with the head switched off and on in turn.
fn toggles(link: &Link, text: &str, tokens: usize) -> Result<(), Box<dyn Error>> {
    let texts = Arc::new(Texts::single(text));
    for layer in [0, 3, 5] {
        let mut times = Vec::new();
        for round in 0..ROUNDS + 2 {
            // Another head each time: nothing can be taken over from the round before but the layers below.
            let edits = vec![format!("{layer}.{}=zero", round % 12).parse()?];
            let start = Instant::now();
            let id = link.submit(Job::Forward(Recipe { texts: texts.clone(), edits, ..Recipe::default() }));
            finish(link, id)?;
            times.extend((round > 1).then(|| start.elapsed().as_secs_f64() * 1e3));
        }
        println!("{tokens:>4} tokens: head of layer {layer} toggled in {}", spread(&mut times));
    }
    Ok(())
}

/// From the key press to the end of the frame that shows the new run, without what a graphics card does: the window's
/// own work with thumbnails, heatmap and output is in it.
fn in_window(folder: &Path, text: &str, tokens: usize) -> Result<(), Box<dyn Error>> {
    let opening =
        Opening { texts: Texts::single(text), model: Ok(folder.to_owned()), models: Vec::new(), session: None };
    let (wake, woken) = std::sync::mpsc::channel();
    let wake = move || {
        wake.send(()).ok();
    };
    let mut window = Harness::builder()
        .with_size(egui::vec2(1280.0, 760.0))
        .allow_missing_glyphs()
        .build_eframe(|_| HeadlightApp::new(spawn(Options::default(), wake), opening, None));
    let settle = |window: &mut Harness<'_, HeadlightApp>, start: Instant| {
        loop {
            window.step();
            let waits = ["updating…", "loading the model…"].map(|text| window.query_by_label(text).is_some());
            if waits == [false, false] || start.elapsed() > Duration::from_secs(60) {
                return start.elapsed().as_secs_f64() * 1e3;
            }
            // A window sleeps until the engine wakes it.
            woken.recv_timeout(Duration::from_millis(100)).ok();
        }
    };
    settle(&mut window, Instant::now());
    for layer in [0, 3, 5] {
        let mut times = Vec::new();
        for round in 0..ROUNDS + 2 {
            let name = format!("Layer {layer}, head {}", round % 12);
            let thumbnail = window.get_all_by_role_and_label(Role::Button, &name).next().ok_or("no thumbnail")?;
            thumbnail.click();
            window.step();
            window.step();
            let start = Instant::now();
            window.key_press(egui::Key::Space);
            window.step(); // the key is seen and the edit made; the next frame asks for the run
            times.extend((round > 1).then_some(settle(&mut window, start)));
            window.key_press(egui::Key::Space);
            window.step();
            settle(&mut window, start);
        }
        println!("{tokens:>4} tokens: in the window, head of layer {layer} {}", spread(&mut times));
    }
    Ok(())
}

fn leave_one_out(model: &Model, text: &str, tokens: usize) -> Result<(), Box<dyn Error>> {
    let texts = Arc::new(Texts::single(text));
    let (mut ours, mut plain) = (Vec::new(), Vec::new());
    let rounds = if tokens > 200 { 3 } else { 7 };
    for round in 0..=rounds {
        let start = Instant::now();
        let mut experiment = LeaveOneOut { examples: Arc::new(vec![(*texts).clone().into()]), target: Target::Own };
        experiment.run(model, &mut |_| Ok(()))?;
        ours.extend((round > 0).then(|| start.elapsed().as_secs_f64() * 1e3));
        let start = Instant::now();
        for _ in 0..72 {
            let input = model.tokenize(&texts)?;
            model.embed(input, &[], &mut Default::default())?;
        }
        plain.extend((round > 0).then(|| start.elapsed().as_secs_f64() * 1e3));
    }
    println!("{tokens:>4} tokens: leave-one-out over 72 heads {}", spread(&mut ours));
    println!("             72 plain forwards {}", spread(&mut plain));
    println!("             ratio of medians {:.2}", plain[plain.len() / 2] / ours[ours.len() / 2]);
    Ok(())
}

fn finish(link: &Link, id: RequestId) -> Result<(), Box<dyn Error>> {
    while let Some(response) = link.wait(Duration::from_secs(60)) {
        match response {
            Response::Done { id: done, outcome: Outcome::Run(_) | Outcome::Loaded(_) } if done == id => return Ok(()),
            Response::Failed { cause, .. } => return Err(cause.into()),
            _ => {}
        }
    }
    Err("the engine does not answer".into())
}
