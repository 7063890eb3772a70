//! The engine's promises: the latest text wins, every request gets one terminal answer, a fault harms nothing else.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

mod support;

use std::any::Any;
use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use headlight::engine::{Experiment, Job, Link, Options, Outcome, Progress, Ran, RequestId, Response, spawn};
use headlight::model::{Model, ModelError};
use headlight::run::{Limit, Recipe, Run, Texts};

/// Far longer than anything takes: it ends a test that would hang.
const PATIENCE: Duration = Duration::from_secs(60);

type Report<'a> = &'a mut dyn FnMut(Progress) -> Result<(), ModelError>;

/// An experiment that a test writes as a closure.
struct Scripted<F>(F);

impl<F: FnMut(&Model, Report<'_>) -> Result<(), ModelError> + Send> Experiment for Scripted<F> {
    fn name(&self) -> String {
        "scripted".into()
    }

    fn run(&mut self, model: &Model, progress: Report<'_>) -> Result<Box<dyn Any + Send>, ModelError> {
        (self.0)(model, progress).map(|()| Box::new("finished") as Box<dyn Any + Send>)
    }
}

fn experiment(act: impl FnMut(&Model, Report<'_>) -> Result<(), ModelError> + Send + 'static) -> Job {
    Job::Experiment(Box::new(Scripted(act)))
}

/// Holds the engine up until the sender is used or dropped, so that what follows waits in its queue.
fn barrier() -> (Job, Sender<()>) {
    let (release, held): (Sender<()>, Receiver<()>) = channel();
    let job = experiment(move |_, _| {
        held.recv().ok();
        Ok(())
    });
    (job, release)
}

/// An experiment that has begun, and goes on until it is cancelled.
fn endless(link: &Link) -> RequestId {
    let (began, wait_for_it) = channel();
    let id = link.submit(experiment(move |_, progress| {
        for done in 0.. {
            progress(Progress::new(done, 10))?;
            began.send(()).ok();
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }));
    wait_for_it.recv_timeout(PATIENCE).unwrap();
    id
}

fn started() -> Link {
    let link = spawn(Options { threads: Some(1), ..Options::default() }, || ());
    link.load(support::tiny_model());
    link
}

fn forward(text: &str) -> Job {
    Job::Forward(Recipe::plain(Texts::single(text)))
}

/// The terminal answer of one request.
fn answer(link: &Link, id: RequestId) -> Response {
    loop {
        let response = link.wait(PATIENCE).expect("an answer");
        if response.id() == id && response.is_terminal() {
            return response;
        }
    }
}

fn run(response: Response) -> Arc<Run> {
    match response {
        Response::Done { outcome: Outcome::Run(Ran { run, .. }), .. } => run,
        other => panic!("no run: {other:?}"),
    }
}

#[test]
fn of_many_waiting_texts_only_the_last_is_run() {
    let link = started();
    let (job, release) = barrier();
    link.submit(job);
    let texts: Vec<String> = (1..=200).map(|length| "a".repeat(length)).collect();
    let ids: Vec<RequestId> = texts.iter().map(|text| link.submit(forward(text))).collect();
    drop(release);
    let mut cancelled = 0;
    let last = loop {
        match link.wait(PATIENCE).expect("an answer") {
            Response::Cancelled { .. } => cancelled += 1,
            response if response.is_terminal() && response.id() == ids[199] => break run(response),
            Response::Done { outcome: Outcome::Run(_), id } => panic!("{id:?} was run"),
            _ => {}
        }
    };
    assert_eq!(cancelled, 199);
    assert_eq!(last.input.texts.a, texts[199]);
}

#[test]
fn a_running_text_stops_when_a_newer_one_comes() {
    // The newer text is sent from the wake-up call of the older one's start: surely after it began, and before its
    // first layer.
    let slot: Arc<Mutex<Option<Link>>> = Arc::default();
    let (sent, newer) = channel();
    let in_wake = slot.clone();
    let link = spawn(Options::default(), move || {
        let slot = in_wake.lock().unwrap();
        let Some(link) = slot.as_ref() else { return };
        for response in link.received() {
            if matches!(response, Response::Started { id } if id == RequestId(2)) {
                link.submit(forward("newer"));
            }
            sent.send(response).ok();
        }
    });
    {
        let mut slot = slot.lock().unwrap();
        assert_eq!(link.load(support::tiny_model()), RequestId(1));
        assert_eq!(link.submit(forward("older")), RequestId(2));
        *slot = Some(link);
    }
    let mut ends = HashMap::new();
    while ends.len() < 3 {
        let response = newer.recv_timeout(PATIENCE).expect("an answer");
        if response.is_terminal() {
            ends.insert(response.id(), response);
        }
    }
    assert!(matches!(ends[&RequestId(2)], Response::Cancelled { .. }), "{:?}", ends[&RequestId(2)]);
    assert_eq!(run(ends.remove(&RequestId(3)).unwrap()).input.texts.a, "newer");
    // The link is dropped by this thread, not by the engine's own.
    drop(slot.lock().unwrap().take());
}

#[test]
fn a_panic_becomes_a_failure_with_its_cause_and_the_next_request_works() {
    let link = started();
    let fault = link.submit(experiment(|_, _| panic!("the probe met a wall")));
    let after = link.submit(forward("the cat"));
    match answer(&link, fault) {
        Response::Failed { cause, .. } => assert!(cause.contains("the probe met a wall"), "{cause}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(run(answer(&link, after)).input.tokens.len(), 4);
}

#[test]
fn grad_mode_left_on_by_a_panicking_job_is_off_again_in_the_next() {
    let link = started();
    let fault = link.submit(experiment(|_, _| {
        tch::with_grad(|| panic!("while gradients were on"));
        Ok(())
    }));
    answer(&link, fault);
    let (tell, told) = channel();
    let probe = link.submit(experiment(move |_, _| {
        let leaf = tch::Tensor::from(1.0f32).set_requires_grad(true);
        tell.send((&leaf * 2.0).requires_grad()).ok();
        Ok(())
    }));
    answer(&link, probe);
    assert_eq!(told.recv(), Ok(false));
}

#[test]
fn a_model_that_cannot_be_opened_leaves_the_old_one_in_use() {
    let link = started();
    let bad = link.load("no/such/folder".into());
    match answer(&link, bad) {
        Response::Failed { cause, .. } => assert!(cause.contains("there is no model “no/such/folder”"), "{cause}"),
        other => panic!("{other:?}"),
    }
    let text = link.submit(forward("the cat"));
    assert_eq!(run(answer(&link, text)).model.name, "tiny-bert");
}

#[test]
fn loading_tells_how_far_it_is_and_one_that_is_cancelled_leaves_the_model_in_use() {
    let (go_on, held) = channel::<()>();
    // After each response the engine waits until it is let go on, and for ever freely once the other end is dropped.
    let link = spawn(Options { threads: Some(1), ..Options::default() }, move || {
        held.recv().ok();
    });
    let mut read = Vec::new();
    let mut to_its_end = |link: &Link, id: RequestId, at_most: usize| {
        read.clear();
        loop {
            match link.wait(PATIENCE).expect("an answer") {
                Response::Progress { progress, .. } => {
                    read.push((progress.done, progress.total));
                    if read.len() == at_most {
                        link.cancel(id);
                    }
                }
                response if response.is_terminal() => {
                    go_on.send(()).ok();
                    return (response, read.clone());
                }
                _ => {}
            }
            go_on.send(()).ok();
        }
    };
    let first = link.load(support::tiny_model());
    let (response, read) = to_its_end(&link, first, usize::MAX);
    assert!(matches!(response, Response::Done { outcome: Outcome::Loaded(_), .. }), "{response:?}");
    let weights = std::fs::metadata(support::tiny_model().join("model.safetensors")).unwrap().len() as usize;
    assert!(read.is_sorted() && read.len() > 10, "{read:?}");
    assert!(read.iter().all(|(_, total)| *total <= weights && *total > weights / 2), "{read:?} of {weights}");
    assert!(read.last().is_some_and(|(done, total)| done == total), "{read:?}");

    let second = link.load(support::tiny_model());
    let (response, read) = to_its_end(&link, second, 3);
    assert!(matches!(response, Response::Cancelled { .. }), "{response:?}");
    assert_eq!(read.len(), 3, "it went on after it was cancelled");
    drop(go_on);
    let text = link.submit(forward("the cat"));
    assert_eq!(run(answer(&link, text)).model.name, "tiny-bert");
}

#[test]
fn without_a_model_a_text_fails_with_a_sentence() {
    let link = spawn(Options::default(), || ());
    let text = link.submit(forward("the cat"));
    assert!(matches!(answer(&link, text), Response::Failed { cause, .. } if cause == "no model is open"));
}

#[test]
fn a_running_experiment_reports_and_can_be_cancelled() {
    let link = started();
    let endless = endless(&link);
    link.cancel(endless);
    let mut reports = 0;
    loop {
        match link.wait(PATIENCE).expect("an answer") {
            Response::Progress { id, .. } if id == endless => reports += 1,
            Response::Cancelled { id } if id == endless => break,
            Response::Done { id, .. } if id == endless => panic!("it ended by itself"),
            _ => {}
        }
    }
    assert!(reports > 0);
}

#[test]
fn a_text_goes_first_while_an_experiment_runs() {
    let link = started();
    let endless = endless(&link);
    // One text after the other is answered while the experiment goes on.
    for text in ["the cat", "the cat sat", "the dog"] {
        let id = link.submit(forward(text));
        assert_eq!(run(answer(&link, id)).input.texts.a, text);
    }
    link.cancel(endless);
    assert!(matches!(answer(&link, endless), Response::Cancelled { .. }));
}

#[test]
fn maps_beyond_the_budget_are_cut_and_the_run_says_so() {
    // 3 layers × 4 heads × 20² tokens × 4 bytes, for four runs held at once.
    let budget = 4 * 3 * 4 * 20 * 20 * 4;
    let link = spawn(Options { map_budget: budget, ..Options::default() }, || ());
    link.load(support::tiny_model());
    let text = link.submit(forward(&"cat ".repeat(40)));
    let run = run(answer(&link, text));
    assert_eq!((run.input.tokens.len(), run.input.full_length, run.input.limit), (20, 42, Some(Limit::Memory)));
    assert!(run.notices()[0].starts_with("20 of 42 tokens shown"));
}

#[test]
fn an_edited_text_comes_with_its_plain_run_and_shares_the_layers_before_the_edit() {
    let link = started();
    let edited = |edits: &[&str]| {
        let edits = edits.iter().map(|edit| edit.parse().unwrap()).collect();
        let id = link.submit(Job::Forward(Recipe {
            texts: Arc::new(Texts::single("the cat sat")),
            edits,
            ..Recipe::default()
        }));
        match answer(&link, id) {
            Response::Done { outcome: Outcome::Run(Ran { run, plain, .. }), .. } => (run, plain),
            other => panic!("{other:?}"),
        }
    };
    let (run, plain) = edited(&[]);
    assert!(Arc::ptr_eq(&run, &plain));
    let (run, plain) = edited(&["1.2=zero"]);
    let same = |a: &Run, b: &Run, layer: usize| {
        Arc::ptr_eq(a.attention.layer(layer).unwrap(), b.attention.layer(layer).unwrap())
    };
    assert_eq!([0, 1, 2].map(|layer| same(&run, &plain, layer)), [true, false, false]);
    assert!(plain.edits.is_empty() && run.edits.len() == 1);
    // A further edit in layer 2 goes on from the edited run, not from the plain one.
    let (further, _) = edited(&["1.2=zero", "2.0=uniform"]);
    assert_eq!([0, 1, 2].map(|layer| same(&further, &run, layer)), [true, true, false]);
    // One that does not apply to this text is left out, and said so; the rest is done.
    let (left_out, _) = edited(&["1.2=zero", "0.0=cut:40>1"]);
    assert!(left_out.notices()[0].contains("0.0=cut:40>1 is left out") && left_out.notices()[0].contains("0 to 4"));
    assert_eq!([0, 1, 2].map(|layer| same(&left_out, &further, layer)), [true, true, false]);
    assert_eq!(left_out.attention, run.attention);
}

#[test]
fn a_pair_brings_the_vectors_of_its_halves_by_themselves() {
    let link = started();
    let edits: Vec<_> = ["1.*=zero", "0.2=uniform"].iter().map(|edit| edit.parse().unwrap()).collect();
    let texts = Arc::new(Texts::pair("the cat", "a dog sat"));
    let id = link.submit(Job::Forward(Recipe { texts, edits: edits.clone(), ..Recipe::default() }));
    let Response::Done { outcome: Outcome::Run(ran), .. } = answer(&link, id) else { panic!("no run") };
    let halves = ran.halves.expect("halves of a pair");
    let model = Model::open(&support::tiny_model()).unwrap();
    for (text, half) in ["the cat", "a dog sat"].into_iter().zip(halves.iter()) {
        let input = model.tokenize(&support::single(text)).unwrap();
        let near = |a: &headlight::run::Embedding, b: &headlight::run::Embedding| {
            a.values.iter().zip(&b.values).all(|(a, b)| (a - b).abs() < 1e-5)
        };
        assert!(near(&half.plain, &model.run(input.clone(), &mut ()).unwrap().embedding.unwrap()), "{text}");
        assert!(near(&half.edited, &model.run_edited(input, &edits, &mut ()).unwrap().embedding.unwrap()), "{text}");
        assert!(!near(&half.plain, &half.edited), "{text}");
    }
    let single = link.submit(forward("the cat"));
    assert!(matches!(answer(&link, single), Response::Done { outcome: Outcome::Run(Ran { halves: None, .. }), .. }));
}

#[test]
fn every_request_of_a_random_flood_gets_exactly_one_terminal_answer() {
    for seed in 0..20 {
        let mut random = support::seeded(seed);
        let link = started();
        let mut sent = vec![RequestId(1)];
        for _ in 0..60 {
            match random.u8(0..10) {
                0 => sent.push(link.load(support::tiny_model())),
                1 => sent.push(link.load("no/such/folder".into())),
                2 => sent.push(link.submit(experiment(|_, _| panic!("on purpose")))),
                3 => sent.push(link.submit(experiment(|_, progress| progress(Progress::new(0, 1))))),
                4 => link.cancel(sent[random.usize(0..sent.len())]),
                _ => sent.push(link.submit(forward(&"cat ".repeat(random.usize(0..20))))),
            }
            if random.bool() {
                std::thread::yield_now();
            }
        }
        // Nothing replaces an experiment, so when this one has ended all before it have.
        let last = link.submit(experiment(|_, _| Ok(())));
        sent.push(last);
        let mut ends: HashMap<RequestId, usize> = HashMap::new();
        while !ends.contains_key(&last) {
            let response = link.wait(PATIENCE).expect("an answer");
            if response.is_terminal() {
                *ends.entry(response.id()).or_default() += 1;
            }
        }
        for id in sent {
            assert_eq!(ends.get(&id), Some(&1), "seed {seed}: {id:?}");
        }
    }
}

#[test]
fn the_wake_up_call_comes_after_the_answer() {
    let (woken, wakes) = channel();
    let link = spawn(Options::default(), move || {
        woken.send(()).ok();
    });
    link.load(support::tiny_model());
    wakes.recv_timeout(PATIENCE).unwrap();
    assert!(link.received().next().is_some(), "the answer must be there when the window wakes");
}
