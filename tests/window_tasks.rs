//! What task heads answer, experiments, pruning and sessions in the window, with a scripted engine at the other end of
//! its link.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

#[path = "support/stage.rs"]
mod stage;
mod support;

use std::sync::Arc;

use egui::accesskit::Role;
use egui_kittest::kittest::{NodeT, Queryable};
use headlight::engine::{Command, Job, Outcome, Progress, Ran, Request, RequestId, Response};
use headlight::lab::{
    Curve, Importance, LEAST_FIRST, LeaveOneOut, Order, Prune, PruneOutcome, PrunedShape, PruningCurve,
    PruningCurveOutcome, Sensitivity, Speed, Sweep, SweepOutcome, Target, Weight,
};
use headlight::run::{HeadId, MaskPiece, ModelInfo, Recipe, Run, Scale, Task, TaskInfo, TaskOutput, Texts};
use ndarray::{Array2, array};
use support::runs::{model_info, run_of};

use stage::{Kept, Stage};

fn model_for(task: Task, labels: &[&str]) -> Arc<ModelInfo> {
    let labels = labels.iter().map(|label| (*label).to_owned()).collect();
    let words = (0..20).map(|id| format!("word{id}")).collect();
    Arc::new(ModelInfo {
        tasks: vec![TaskInfo { task, labels, scale: Scale::Softmax }],
        mask: Some(MaskPiece { id: 4, piece: "[MASK]".into() }),
        pieces: Arc::new(words),
        ..(*model_info(2, 3)).clone()
    })
}

/// Answers the last text that was asked for, plain and edited alike but for what the task head says.
fn answer(stage: &mut Stage, tokens: Vec<usize>, plain: Array2<f32>, edited: Array2<f32>) -> Recipe {
    stage.harness.run();
    let mut last = None;
    for Request { id, job } in stage.requests() {
        match job {
            Job::Load(_) => stage.send(Response::Done { id, outcome: Outcome::Loaded(stage.info.clone()) }),
            Job::Forward(recipe) => last = Some((id, recipe)),
            Job::Experiment(_) => panic!("the window asked for an experiment"),
        }
    }
    let (id, recipe) = last.expect("a text was asked for");
    let task = stage.info.tasks[0].task;
    let run = |logits: Array2<f32>| {
        let mut run = run_of(&stage.info, &recipe.texts);
        for &token in &recipe.masked {
            run.input.mask(token, stage.info.mask.as_ref().unwrap()).unwrap();
        }
        run.outputs = vec![TaskOutput { task, tokens: tokens.clone(), logits }];
        run
    };
    let plain = Arc::new(run(plain));
    let edits = recipe.edits.clone();
    let run = if edits.is_empty() { plain.clone() } else { Arc::new(Run { edits, ..run(edited) }) };
    stage.send(Response::Done { id, outcome: Outcome::Run(Ran { run, plain, halves: None }) });
    recipe
}

/// Logits that make one class likely.
fn likely(class: usize, by: f32) -> Array2<f32> {
    Array2::from_shape_fn((1, 20), |(_, at)| if at == class { by } else { 0.0 })
}

#[test]
fn a_click_masks_a_word_and_its_guesses_are_shown_before_and_after() {
    let mut stage = Stage::with_model(model_for(Task::MaskedLm, &[]), Texts::single("the cat sat"));
    answer(&mut stage, Vec::new(), Array2::zeros((0, 20)), Array2::zeros((0, 20)));
    stage.harness.get_by_role_and_label(Role::Button, "cat").click();
    // In these runs every word has the number 7.
    let recipe = answer(&mut stage, vec![2], likely(7, 3.0), likely(9, 3.0));
    assert_eq!(recipe.masked, [2]);
    assert!(stage.shows("“cat” is guess 1, 51.39 %"), "e³ / (e³ + 19)");
    assert!(stage.shows("word7") && !stage.shows("Edited model"));
    stage.harness.key_press(egui::Key::Space);
    let recipe = answer(&mut stage, vec![2], likely(7, 3.0), likely(9, 3.0));
    assert_eq!((recipe.masked, recipe.edits.len()), (vec![2], 1), "the mask stays");
    assert!(stage.shows("“cat” is guess 1 → 2, 51.39 % → 2.56 % (-48.83)"));
    // KL = Σ p ln(p / q) = (e³ − 1) / (e³ + 19) · 3
    assert!(stage.shows("KL divergence from the plain model: 1.4649 nats"));
    stage.harness.get_by_role_and_label(Role::Button, "[cat]").click();
    assert!(answer(&mut stage, vec![], Array2::zeros((0, 20)), Array2::zeros((0, 20))).masked.is_empty());
    stage.harness.get_by_role_and_label(Role::Button, "sat").click();
    answer(&mut stage, vec![3], likely(7, 3.0), likely(7, 3.0));
    stage.text_box("Sentence").focus();
    stage.harness.run();
    stage.text_box("Sentence").type_text("!");
    let recipe = answer(&mut stage, vec![], Array2::zeros((0, 20)), Array2::zeros((0, 20)));
    assert!(recipe.masked.is_empty(), "of another text there are no masks");
}

#[test]
fn classes_labels_and_spans_stand_beside_each_other() {
    let mut stage =
        Stage::with_model(model_for(Task::SequenceClassification, &["sad", "glad"]), Texts::single("the cat sat"));
    let (plain, edited) = (array![[0.0, 3f32.ln()]], array![[3f32.ln(), 0.0]]);
    answer(&mut stage, vec![], plain.clone(), edited.clone());
    assert!(stage.shows("Sequence classification") && stage.shows("75.00 %") && stage.shows("25.00 %"));
    stage.harness.key_press(egui::Key::Space);
    answer(&mut stage, vec![], plain, edited);
    assert!(stage.shows("75.00 % → 25.00 % (-50.00)") && stage.shows("25.00 % → 75.00 % (+50.00)"));

    let mut stage = Stage::with_model(model_for(Task::TokenClassification, &["O", "ANIMAL"]), Texts::single("a cat"));
    let of = |animal: usize| {
        Array2::from_shape_fn((4, 2), |(token, class)| if (token == animal) == (class == 1) { 2.0 } else { 0.0 })
    };
    let tokens: Vec<usize> = (0..4).collect();
    answer(&mut stage, tokens.clone(), of(2), of(1));
    assert!(stage.shows("ANIMAL") && !stage.shows("ANIMAL → O"));
    stage.harness.key_press(egui::Key::Space);
    answer(&mut stage, tokens, of(2), of(1));
    assert!(stage.shows("ANIMAL → O") && stage.shows("O → ANIMAL"));

    let mut stage =
        Stage::with_model(model_for(Task::QuestionAnswering, &["start", "end"]), Texts::pair("who", "a cat sat"));
    // [CLS] who [SEP] a cat sat [SEP]: “cat sat” are the tokens 4 and 5.
    let from = |start: usize, end: usize| {
        Array2::from_shape_fn((7, 2), |(token, class)| if token == [start, end][class] { 9.0 } else { 0.0 })
    };
    let tokens: Vec<usize> = (0..7).collect();
    answer(&mut stage, tokens.clone(), from(4, 5), from(3, 4));
    assert!(stage.shows("%  cat sat"));
    stage.harness.key_press(egui::Key::Space);
    answer(&mut stage, tokens, from(4, 5), from(3, 4));
    assert!(stage.shows("%  a cat") && stage.shows("%  cat sat"));
}

#[test]
fn heads_are_patched_from_a_pinned_run_of_as_many_tokens() {
    let mut stage = Stage::with_text("the cat sat");
    let menu = |stage: &mut Stage| {
        stage.harness.get_by_label("Layer 1, head 2").click_secondary();
        stage.harness.run();
    };
    menu(&mut stage);
    let node = stage.harness.get_by_role_and_label(Role::Button, "Patch from the pinned run");
    assert!(node.accesskit_node().is_disabled(), "nothing is pinned yet");
    stage.harness.key_press(egui::Key::Escape);
    stage.harness.run();
    stage.harness.key_press(egui::Key::P);
    stage.harness.run();
    assert!(stage.shows("Pinned: the cat sat (5 tokens)"));
    stage.text_box("Sentence").focus();
    stage.harness.run();
    stage.text_box("Sentence").type_text("!");
    stage.play();
    menu(&mut stage);
    stage.harness.get_by_label("Patch context from the pinned run").click();
    assert_eq!(stage.operate(), ["1.2=patch:context@text:the cat sat"]);
    stage.text_box("Sentence").focus();
    stage.harness.run();
    stage.text_box("Sentence").type_text(" there");
    stage.play();
    stage.harness.get_by_label("Layer 0, head 1").click_secondary();
    stage.harness.run();
    assert!(stage.harness.query_by_label("Patch weights from the pinned run").is_none(), "of another length");
    stage.harness.key_press(egui::Key::Escape);
    stage.harness.run();
    let unpin = stage.harness.get_all_by_label("✕").next().unwrap();
    unpin.click();
    stage.harness.run();
    assert!(!stage.shows("Pinned:"));
}

#[test]
fn a_mean_over_a_text_file_is_asked_for_by_its_path_and_tells_how_far_it_has_come() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("corpus.txt");
    let mut stage = Stage::with_text("the cat sat");
    stage.harness.get_by_label("Layer 1, head 2").click_secondary();
    stage.harness.run();
    stage.harness.get_by_label("Mean over a text file…").click();
    stage.harness.run();
    let name = "Text file, one text a line";
    stage.text_box(name).focus();
    stage.harness.run();
    stage.text_box(name).type_text(&file.display().to_string());
    stage.harness.run();
    stage.harness.get_by_role_and_label(Role::Button, "Use").click();
    stage.harness.run();
    assert!(stage.shows("failed: cannot read"));
    std::fs::write(&file, "one\ntwo\n").unwrap();
    stage.harness.get_by_role_and_label(Role::Button, "Use").click();
    stage.harness.run();
    let request = stage.requests().pop().expect("a run");
    assert!(
        matches!(&request.job, Job::Forward(recipe) if recipe.edits[0].to_string() == format!("1.2=mean@{}", file.display()))
    );
    stage.send(Response::Progress { id: request.id, progress: Progress::new(1, 2) });
    assert!(stage.shows("mean over a text file: 1 of 2"));
}

fn effects() -> Array2<f32> {
    Array2::from_shape_fn((2, 3), |(layer, head)| 0.1 * (layer * 3 + head) as f32)
}

#[test]
fn heads_are_ranked_on_a_file_and_results_appear_as_they_come() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("texts.txt");
    std::fs::write(&file, "one\ntwo\tpair\nthree\n").unwrap();
    let mut stage = Stage::with_text("the cat");
    stage.harness.get_by_label("Experiments…").click();
    stage.harness.run();
    stage.text_box("Texts").focus();
    stage.harness.run();
    stage.text_box("Texts").type_text(&file.display().to_string());
    stage.harness.run();
    stage.harness.get_by_label("Leave one out").click();
    stage.harness.run();
    let request = stage.requests().pop().expect("an experiment");
    assert!(format!("{request:?}").contains("leave-one-out on 3 texts"), "{request:?}");
    let examples = Arc::new(vec![Texts::single("one").into(), Texts::pair("two", "pair").into()]);
    let spec = LeaveOneOut { examples: examples.clone(), target: Target::Own };
    let mut effect = effects();
    effect.row_mut(1).fill(f32::NAN);
    let partial = Importance { spec: spec.clone(), effect, interval: None, plain: 1.0 };
    let progress = Progress { found: Some(Arc::new(partial)), ..Progress::new(1, 6) };
    stage.responses.send(Response::Progress { id: request.id, progress }).unwrap();
    stage.harness.step();
    assert!(stage.shows("1 of 6") && stage.shows("mean over 2 texts, the layers so far"));
    let interval = Some(Array2::from_elem((2, 3), 0.05));
    let whole = Importance { spec, effect: effects(), interval, plain: 1.0 };
    stage.send(Response::Done { id: request.id, outcome: Outcome::Experiment(Box::new(whole)) });
    assert!(stage.shows("mean over 2 texts; a head at random: +0.2500 ± 0.1708"));
    stage.harness.get_by_label("Layer 1, head 2").hover();
    stage.harness.run_steps(40);
    assert!(stage.shows("effect +0.50000 ± 0.05000 (95 %)"));
    // Gradients, with a layer that has no signal.
    stage.harness.get_by_label("Gradients").click();
    stage.harness.run();
    let request = stage.requests().pop().expect("an experiment");
    assert!(format!("{request:?}").contains("gradient importance on 3 texts"), "{request:?}");
    let spec = headlight::lab::GradientImportance { examples, target: Target::Similarity };
    let found = Sensitivity { spec, raw: effects(), normalized: effects(), silent: vec![1] };
    stage.send(Response::Done { id: request.id, outcome: Outcome::Experiment(Box::new(found)) });
    assert!(
        stage.shows("how sensitive the similarity of the pair is to each head") && stage.shows("no signal in layer 1")
    );
    // A failure is told where the experiment was asked for.
    stage.harness.get_by_label("Gradients").click();
    stage.harness.run();
    let id = stage.requests().pop().unwrap().id;
    stage.send(Response::Failed { id, cause: "its gradient is 0".into() });
    assert!(stage.shows("⚠ its gradient is 0"));
}

fn curve() -> PruningCurveOutcome {
    let examples = Arc::new(vec![Texts::single("the cat").into()]);
    let heads: Vec<HeadId> =
        ["0.2", "1.0", "0.0", "0.1", "1.1", "1.2"].iter().map(|head| head.parse().unwrap()).collect();
    let (target, values) = (Target::Own, vec![1.0, 0.999, 0.995, 0.97, 0.9, 0.8, 0.1]);
    let sweep = Sweep {
        examples: examples.clone(),
        target: target.clone(),
        orders: vec![Order { name: LEAST_FIRST.into(), heads }],
    };
    PruningCurveOutcome {
        spec: PruningCurve { examples: examples.clone(), target: target.clone(), seed: 1 },
        model: "scripted".into(),
        importance: Importance {
            spec: LeaveOneOut { examples, target },
            effect: effects(),
            interval: None,
            plain: 1.0,
        },
        sweep: SweepOutcome { spec: sweep, curves: vec![Curve { name: LEAST_FIRST.into(), values }] },
    }
}

#[test]
fn a_pruning_curve_is_drawn_with_its_stop_rule_and_acted_on() {
    let mut stage = Stage::with_text("the cat");
    stage.harness.get_by_label("Experiments…").click();
    stage.harness.run();
    stage.harness.get_by_label("Pruning curve").click();
    stage.harness.run();
    let request = stage.requests().pop().expect("an experiment");
    assert!(format!("{request:?}").contains("pruning curve on 1 texts"), "{request:?}");
    stage.send(Response::Done { id: request.id, outcome: Outcome::Experiment(Box::new(curve())) });
    assert!(stage.shows("2 of 6 heads can go"), "within 1 %");
    assert!(stage.shows("what the cosine with the plain vector loses"), "the ranking colours the grid");
    stage.finish_work();
    stage.harness.get_by_role_and_label(Role::Image, "Pruning curves");
    stage.harness.get_by_label("Switch these off").click();
    assert_eq!(stage.operate(), ["0.2=zero", "1.0=zero"]);
    stage.harness.get_by_label("Prune these…").click();
    stage.harness.run();
    let heads = stage.text_box("Heads to remove").accesskit_node().value();
    assert_eq!(heads.as_deref(), Some("0.2,1.0"));
}

#[test]
fn pruning_for_good_takes_the_heads_that_are_off_and_reports() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("small");
    let mut stage = Stage::with_text("the cat sat");
    stage.harness.get_by_label("Layer 1, head 2").click_modifiers(egui::Modifiers::COMMAND);
    stage.operate();
    stage.harness.get_by_label("Prune for good…").click();
    stage.harness.run();
    assert_eq!(stage.text_box("Heads to remove").accesskit_node().value().as_deref(), Some("1.2"));
    assert!(stage.text_box("Folder to write").accesskit_node().value().unwrap().ends_with("scripted-pruned"));
    stage.text_box("Heads to remove").focus();
    stage.harness.run();
    stage.text_box("Heads to remove").type_text(",7.0");
    stage.harness.run();
    stage.harness.get_by_role_and_label(Role::Button, "Prune").click();
    stage.harness.run();
    assert!(stage.shows("there is no head 7.0") && stage.requests().is_empty());
    stage.text_box("Heads to remove").focus();
    stage.harness.run();
    stage.harness.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::A);
    stage.text_box("Heads to remove").type_text("1.2");
    stage.harness.run();
    stage.harness.get_by_role_and_label(Role::Button, "Prune").click();
    stage.harness.run();
    let request = stage.requests().pop().expect("an experiment");
    assert!(format!("{request:?}").contains("pruning 1 heads"), "{request:?}");
    let weight = |parameters| Weight { parameters, bytes: parameters as u64 * 4 };
    let outcome = PruneOutcome {
        spec: Prune { heads: [HeadId::new(1, 2)].into(), shape: PrunedShape::Compact, out: out.clone() },
        before: weight(1000),
        after: weight(900),
        difference: 2e-7,
        speed: vec![Speed { tokens: 16, before: [1.0, 2.0, 3.0], after: [0.5, 1.0, 1.5] }],
    };
    stage.send(Response::Done { id: request.id, outcome: Outcome::Experiment(Box::new(outcome)) });
    assert!(stage.shows("parameters 1000 → 900 (-10.0 %)") && stage.shows("2.00 times as fast"));
    stage.harness.get_by_role_and_label(Role::Button, "Open it").click();
    stage.harness.run();
    assert!(stage.requests().iter().any(|request| matches!(&request.job, Job::Load(folder) if *folder == out)));
}

#[test]
fn a_session_is_saved_and_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("session.json");
    let mut stage = Stage::with_text("the cat sat");
    stage.harness.key_press(egui::Key::P);
    stage.harness.get_by_label("Layer 1, head 2").click();
    stage.harness.run();
    stage.harness.key_press(egui::Key::Space);
    stage.operate();
    stage.harness.get_by_role_and_label(Role::ComboBox, "Colour scale").click();
    stage.harness.run();
    stage.harness.get_by_label("percentile").click();
    stage.harness.run();
    let ask = |stage: &mut Stage, entry: &str, button: &str, path: &std::path::Path| {
        stage.harness.get_by_label("Session").click();
        stage.harness.run();
        stage.harness.get_by_label(entry).click();
        stage.harness.run();
        let name = "File (.json)";
        stage.text_box(name).focus();
        stage.harness.run();
        stage.harness.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::A);
        stage.text_box(name).type_text(&path.display().to_string());
        stage.harness.run();
        stage.harness.get_by_role_and_label(Role::Button, button).click();
        stage.harness.run();
    };
    ask(&mut stage, "Save session…", "Save", &file);
    assert!(stage.shows("written: ") && file.is_file());
    let mut other = Stage::with_text("something else");
    other.harness.key_press(egui::Key::Space);
    other.operate();
    ask(&mut other, "Open session…", "Open", &folder.path().join("none.json"));
    assert!(other.shows("failed: cannot read"), "and the dialog stays");
    other.harness.get_by_role_and_label(Role::Button, "Cancel").click();
    other.harness.run();
    ask(&mut other, "Open session…", "Open", &file);
    let requests = other.requests();
    let recipe = requests.iter().find_map(|request| match &request.job {
        Job::Forward(recipe) => Some(recipe.clone()),
        _ => None,
    });
    let recipe = recipe.expect("the session's text is asked for");
    assert_eq!(*recipe.texts, Texts::single("the cat sat"));
    assert_eq!(recipe.edits.iter().map(ToString::to_string).collect::<Vec<_>>(), ["1.2=zero"]);
    assert!(other.shows("Layer 1, head 2"));
    assert!(other.shows("colours by percentile: by rank among all weights above 0"));
    let rerun = requests.iter().find(|request| matches!(request.job, Job::Experiment(_))).expect("the pinned run");
    let pinned = Arc::new(run_of(&other.info, &Arc::new(Texts::single("the cat sat"))));
    other.send(Response::Done { id: rerun.id, outcome: Outcome::Experiment(Box::new(pinned)) });
    assert!(other.shows("Pinned: the cat sat (5 tokens)"));
    other.harness.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::Z);
    other.harness.run();
    assert!(other.shows("undone: open session"));
}

/// A file in the reader's hand.
#[derive(Debug)]
struct Dropped(std::path::PathBuf);

impl egui::DroppedFile for Dropped {
    fn path(&self) -> &std::path::Path {
        &self.0
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        std::fs::read(&self.0).map_err(|error| error.to_string())
    }
}

#[test]
fn models_are_chosen_from_a_menu_dropped_or_opened_by_their_folder() {
    let folder = tempfile::tempdir().unwrap();
    let mut stage = Stage::with_text("the cat sat");
    let loaded = |stage: &mut Stage| {
        stage.harness.run();
        let load = stage.requests().into_iter().find_map(|request| match request.job {
            Job::Load(folder) => Some((request.id, folder)),
            _ => None,
        });
        let (id, folder) = load.expect("a model is asked for");
        stage.send(Response::Failed { id, cause: "it is no model".into() });
        assert!(stage.shows("it is no model"));
        folder
    };
    stage.harness.get_by_role_and_label(Role::Button, "scripted").click();
    stage.harness.run();
    stage.harness.get_by_role_and_label(Role::Button, "multilingual-other").click();
    assert_eq!(loaded(&mut stage), std::path::Path::new("models/other"));
    let drop = |stage: &mut Stage, path: &std::path::Path| {
        stage.harness.input_mut().dropped_files.push(Arc::new(Dropped(path.to_owned())));
        stage.harness.step();
    };
    drop(&mut stage, folder.path());
    assert_eq!(loaded(&mut stage), folder.path());
    drop(&mut stage, &folder.path().join("model.safetensors"));
    assert_eq!(loaded(&mut stage), folder.path().join("model.safetensors"));
    drop(&mut stage, &folder.path().join("picture.png"));
    stage.harness.run();
    assert!(stage.shows("is no model's folder"));
    stage.harness.get_by_role_and_label(Role::Button, "scripted").click();
    stage.harness.run();
    stage.harness.get_by_label("Open a folder…").click();
    stage.harness.run();
    let name = "Folder with config.json and weights";
    stage.text_box(name).focus();
    stage.harness.run();
    stage.text_box(name).type_text(&folder.path().display().to_string());
    stage.harness.run();
    stage.harness.get_by_role_and_label(Role::Button, "Open").click();
    assert_eq!(loaded(&mut stage), folder.path());
}

/// Chooses the other model from the menu, and gives its request.
fn other_model_asked_for(stage: &mut Stage) -> RequestId {
    stage.harness.get_by_role_and_label(Role::Button, "scripted").click();
    stage.harness.run();
    stage.harness.get_by_role_and_label(Role::Button, "multilingual-other").click();
    stage.harness.run();
    stage.requests().pop().expect("a model is asked for").id
}

#[test]
fn opening_a_model_shows_its_progress_and_can_be_given_up() {
    let mut stage = Stage::with_text("the cat sat");
    let id = other_model_asked_for(&mut stage);
    assert!(stage.shows("opening other…"));
    for (done, shown) in [(120_000_000, "opening other: 120 of 470 MB"), (470_000_000, "opening other: its tokenizer")]
    {
        stage.send(Response::Progress { id, progress: Progress::new(done, 470_000_000) });
        assert!(stage.shows(shown), "{shown} is not shown");
    }
    stage.harness.get_by_role_and_label(Role::Button, "Cancel").click();
    stage.harness.run();
    let cancelled = stage.commands.try_iter().any(|command| matches!(command, Command::Cancel(given) if given == id));
    assert!(cancelled && stage.shows("giving up other…"));
    stage.send(Response::Cancelled { id });
    assert!(!stage.shows("giving up") && !stage.shows("opening other"));
    assert!(stage.shows("scripted") && stage.shows("5 tokens"), "the model in use is gone");
    assert!(stage.requests().is_empty(), "the text was run again");
}

#[test]
fn a_model_in_place_of_another_runs_the_text_again_even_if_it_was_given_up_too_late() {
    let mut stage = Stage::with_text("the cat sat");
    for gives_up in [false, true] {
        let id = other_model_asked_for(&mut stage);
        if gives_up {
            stage.harness.get_by_role_and_label(Role::Button, "Cancel").click();
            stage.harness.run();
        }
        let outcome = Outcome::Loaded(stage.info.clone());
        stage.send(Response::Done { id, outcome });
        assert_eq!(stage.play(), [Texts::single("the cat sat")], "given up: {gives_up}");
    }
}

#[test]
fn models_that_were_opened_are_offered_again_as_long_as_they_are_there() {
    let (here, gone) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let named = |folder: &std::path::Path| {
        let model = folder.join("my fine-tune");
        std::fs::create_dir(&model).unwrap();
        Arc::new(ModelInfo { folder: model, ..(*model_info(2, 3)).clone() })
    };
    let (mut kept, models) = (Kept::default(), [named(here.path()), named(gone.path())]);
    for model in &models {
        let mut stage = Stage::after(Some(&kept), Texts::single("text"));
        stage.info = model.clone();
        stage.play();
        eframe::App::save(stage.harness.state_mut(), &mut kept);
    }
    drop(gone);
    let mut stage = Stage::after(Some(&kept), Texts::single("text"));
    stage.play();
    stage.harness.get_by_role_and_label(Role::Button, "scripted").click();
    stage.harness.run();
    stage.harness.get_by_label("my fine-tune").click();
    stage.harness.run();
    let asked = stage.requests().pop().expect("a model is asked for");
    assert!(matches!(&asked.job, Job::Load(folder) if *folder == models[0].folder), "{asked:?}");
    // What cannot be read is as if there were nothing.
    kept.0.values_mut().for_each(|value| value.insert(0, '{'));
    Stage::after(Some(&kept), Texts::single("text")).play();
}

#[test]
fn a_model_is_fetched_by_its_name_and_a_failure_is_told_beside_it() {
    let mut stage = Stage::with_text("the cat sat");
    stage.harness.get_by_role_and_label(Role::Button, "scripted").click();
    stage.harness.run();
    stage.harness.get_by_label("Fetch a model…").click();
    stage.harness.run();
    stage.text_box("Model").focus();
    stage.harness.run();
    // A name that is a path is refused before anything is asked of a network.
    stage.text_box("Model").type_text("../x");
    stage.harness.run();
    stage.harness.get_by_role_and_label(Role::Button, "Fetch").click();
    stage.until("“../x” is no name of a model");
    assert!(stage.harness.query_by_role_and_label(Role::Button, "Fetch").is_some(), "another can be tried");
    assert!(stage.requests().is_empty());
}

#[test]
fn what_was_found_while_a_model_was_read_is_listed() {
    let report = headlight::run::LoadReport {
        files: vec!["pytorch_model.bin".into()],
        renamed: vec![("norm.weight".into(), "norm.gamma".into())],
        unused: vec!["dropped.weight".into()],
        settings: vec!["it has no model_type, and is read as roberta".into()],
        ..Default::default()
    };
    let info = Arc::new(ModelInfo { report, ..(*model_info(2, 3)).clone() });
    let mut stage = Stage::with_model(info, Texts::single("the cat"));
    stage.play();
    stage.harness.get_by_role_and_label(Role::Button, "scripted").click();
    stage.harness.run();
    stage.harness.get_by_label("About the model").click();
    stage.harness.run();
    for text in [
        "files: pytorch_model.bin",
        "norm.gamma, read as norm.weight",
        "Tensors that nothing uses: 1",
        "dropped.weight",
        "Settings: 1",
        "it has no model_type, and is read as roberta",
    ] {
        assert!(stage.shows(text), "{text}");
    }
    assert!(!stage.shows("infinite or none:"));
}

#[test]
fn a_text_that_the_model_cannot_read_offers_one_that_can() {
    let mut stage = Stage::with_text("[UNK] [UNK]");
    stage.harness.get_by_role_and_label(Role::Button, "Switch to multilingual-other").click();
    stage.harness.run();
    assert!(
        stage
            .requests()
            .iter()
            .any(|request| matches!(&request.job, Job::Load(folder) if folder.ends_with("models/other")))
    );
}

#[test]
fn why_pieces_are_unknown_is_told_and_another_model_offered_only_for_a_script() {
    let mut stage = Stage::with_text("the 😀 cat");
    assert!(stage.shows("⚠ 1 of 3 pieces is [UNK]: 1 because the vocabulary lacks an emoji or symbol (token 2 “😀”)"));
    let offer =
        |stage: &Stage| stage.harness.query_by_role_and_label(Role::Button, "Switch to multilingual-other").is_some();
    assert!(!offer(&stage));
    stage = Stage::with_text("[UNK] 😀 [UNK]");
    assert!(stage.shows(
        "⚠ 3 of 3 pieces are [UNK]: 2 because the vocabulary has no letter of the Han script (token 1 “[UNK]”, token 3 \
         “[UNK]”); 1 because the vocabulary lacks an emoji or symbol (token 2 “😀”); open a model trained on that \
         language, such as a multilingual one"
    ));
    assert!(offer(&stage));
}

#[test]
fn a_prefix_that_the_model_wants_is_put_before_the_text() {
    let prefix = headlight::run::Prefix { name: "query".into(), text: "query: ".into() };
    let info = Arc::new(ModelInfo { prefixes: vec![prefix], ..(*model_info(2, 3)).clone() });
    let mut stage = Stage::with_model(info, Texts::single("the cat"));
    stage.play();
    let list = stage.harness.get_all_by_role(Role::ComboBox).find(|node| node.value().as_deref() == Some("no prefix"));
    list.expect("a list of prefixes").click();
    stage.harness.run();
    stage.harness.get_by_role_and_label(Role::Button, "query: ").click();
    assert_eq!(stage.play().last(), Some(&Texts::single("query: the cat")));
}
