//! Wall-clock of operating on heads: from toggling one head to the new picture's numbers, and leave-one-out over all
//! heads beside calling the plain forward as often.
//!
//! `cargo bench --bench surgery`

mod support;

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use headlight::engine::{Experiment, Job, Link, Options, Outcome, RequestId, Response, spawn};
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
    while let Some(response) = link.wait(std::time::Duration::from_secs(60)) {
        match response {
            Response::Done { id: done, outcome: Outcome::Run(_) | Outcome::Loaded(_) } if done == id => return Ok(()),
            Response::Failed { cause, .. } => return Err(cause.into()),
            _ => {}
        }
    }
    Err("the engine does not answer".into())
}
