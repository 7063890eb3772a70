//! Experiments give what their documentation says, with progress, and end when they are told to.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

mod support;

use std::sync::Arc;

use headlight::engine::Experiment;
use headlight::lab::{Nearest, NearestOutcome};
use headlight::metrics::cosine;
use headlight::model::{Model, ModelError};

fn nearest(edits: &[&str]) -> Nearest {
    Nearest {
        query: "the cat sat".into(),
        sentences: Arc::new(["the dog sat", "a mat", "the cat sat", "walking"].map(String::from).to_vec()),
        edits: edits.iter().map(|edit| edit.parse().unwrap()).collect(),
    }
}

#[test]
fn the_nearest_sentences_are_those_of_the_highest_cosine_before_and_after() {
    let model = Model::open(&support::tiny_model()).unwrap();
    let mut experiment = nearest(&["1.*=zero", "0.0=uniform"]);
    let mut seen = Vec::new();
    let outcome = experiment.run(&model, &mut |progress| {
        seen.push(progress.done);
        Ok(())
    });
    let outcome = outcome.unwrap().downcast::<NearestOutcome>().unwrap();
    assert_eq!(seen, [0, 1, 2, 3]);
    let vector = |text: &str, edits| {
        let input = model.tokenize(&support::single(text)).unwrap();
        model.run_edited(input, edits, &mut ()).unwrap().embedding.values
    };
    for neighbour in &outcome.neighbours {
        let text = &experiment.sentences[neighbour.sentence];
        let plain = cosine(vector("the cat sat", &[]).view(), vector(text, &[]).view());
        let edits = &experiment.edits;
        let edited = cosine(vector("the cat sat", edits).view(), vector(text, edits).view());
        assert!((neighbour.plain - plain).abs() < 1e-5 && (neighbour.edited - edited).abs() < 1e-5, "{text}");
    }
    let first = outcome.nearest(2, |neighbour| neighbour.plain);
    assert_eq!((first.len(), first[0].sentence), (2, 2), "the text itself is nearest");
    assert!((first[0].plain - 1.0).abs() < 1e-6 && first[0].plain >= first[1].plain);
}

#[test]
fn an_experiment_ends_when_its_progress_is_refused() {
    let model = Model::open(&support::tiny_model()).unwrap();
    let stopped = nearest(&[]).run(&model, &mut |progress| {
        if progress.done == 2 { Err(ModelError::Stopped) } else { Ok(()) }
    });
    assert!(matches!(stopped, Err(ModelError::Stopped)));
}
