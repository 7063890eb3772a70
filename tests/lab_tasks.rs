//! Experiments on what task heads answer: each number is held against edited runs, one by one.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

mod support;

use std::sync::Arc;

use headlight::engine::Experiment;
use headlight::lab::{
    Example, GradientImportance, Importance, LeaveOneOut, Order, Sweep, SweepOutcome, Target, gradients,
};
use headlight::model::{Model, Sources};
use headlight::run::{Edit, HeadId, Recipe, Run, Scale, Task};

/// A line of a file of texts, read for a model.
fn example(model: &Model, target: &str, line: &str) -> Example {
    Example::from_line(line, &target.parse().unwrap(), model.info().tasks.first().map(|info| info.task)).unwrap()
}

fn run(model: &Model, example: &Example, masked: &[usize], edits: &[String]) -> Run {
    let edits: Vec<Edit> = edits.iter().map(|edit| edit.parse().unwrap()).collect();
    let recipe = Recipe { texts: Arc::new(example.texts.clone()), masked: masked.to_vec(), edits };
    model.run_recipe(&recipe, &mut Sources::default()).unwrap()
}

/// −ln of a class's probability in a row of logits.
fn surprise(row: impl IntoIterator<Item = f32>, class: usize) -> f32 {
    let row: Vec<f32> = row.into_iter().collect();
    -Scale::Softmax.apply(&row)[class].ln()
}

fn greatest(row: impl IntoIterator<Item = f32>) -> usize {
    let row: Vec<f32> = row.into_iter().collect();
    (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap()
}

/// A target, by hand, from an edited run.
type ByHand = fn(&Run) -> f32;

struct Case {
    model: &'static str,
    target: &'static str,
    line: &'static str,
    masked: &'static [usize],
    by_hand: ByHand,
}

fn logits(run: &Run, row: usize) -> Vec<f32> {
    run.outputs[0].logits.row(row).to_vec()
}

/// A column of logits: over tokens.
fn over_tokens(run: &Run, class: usize) -> Vec<f32> {
    run.outputs[0].logits.column(class).to_vec()
}

fn cases() -> Vec<Case> {
    let case = |model, target, line, masked, by_hand| Case { model, target, line, masked, by_hand };
    vec![
        case("sequence", "class:glad", "the cat sat", &[], |run| Scale::Softmax.apply(&logits(run, 0))[2]),
        case("sequence", "loss", "the cat sat\tso-so", &[], |run| surprise(logits(run, 0), 1)),
        case("sequence", "loss", "the cat\ta dog\tsad", &[], |run| surprise(logits(run, 0), 0)),
        case("regression", "class:LABEL_0", "the cat sat", &[], |run| logits(run, 0)[0]),
        case("regression", "loss", "the cat sat\t1.5", &[], |run| (logits(run, 0)[0] - 1.5).powi(2)),
        // ##s=36, cat=40, dog=41 in the vocabulary.
        case("pretraining", "word:2=dog", "the cat sat", &[2], |run| Scale::Softmax.apply(&logits(run, 0))[41]),
        case("masked-lm-untied", "word:1=##s", "the cat", &[1], |run| Scale::Softmax.apply(&logits(run, 0))[36]),
        case("pretraining", "loss", "the [MASK] sat on [MASK]\tcat dog", &[], |run| {
            (surprise(logits(run, 0), 40) + surprise(logits(run, 1), 41)) / 2.0
        }),
        // “cats” is cat ##s: the label of a word stands at its first piece.
        case("token", "loss", "the cats sat\tO B-animal O", &[], |run| {
            (surprise(logits(run, 1), 0) + surprise(logits(run, 2), 1) + surprise(logits(run, 4), 0)) / 3.0
        }),
        // [CLS] the cat [SEP] a dog sat [SEP]: “dog sat” are the tokens 5 and 6.
        case("question", "loss", "the cat\ta dog sat\tdog sat", &[], |run| {
            (surprise(over_tokens(run, 0), 5) + surprise(over_tokens(run, 1), 6)) / 2.0
        }),
        case("question", "accuracy", "the cat\ta dog sat\tdog sat", &[], |run| {
            let right = greatest(over_tokens(run, 0)) == 5 && greatest(over_tokens(run, 1)) == 6;
            f32::from(u8::from(right))
        }),
        case("token", "accuracy", "the cats sat\tO B-animal B-place", &[], |run| {
            let hits =
                [(1, 0), (2, 1), (4, 3)].into_iter().filter(|&(token, class)| greatest(logits(run, token)) == class);
            hits.count() as f32 / 3.0
        }),
        case("pretraining", "accuracy", "the [MASK] sat\tcat", &[], |run| {
            f32::from(u8::from(greatest(logits(run, 0)) == 40))
        }),
    ]
}

#[test]
fn leave_one_out_and_curves_equal_edited_runs() {
    for case in cases() {
        let model = Model::open(&support::task_model(case.model)).unwrap();
        let target: Target = case.target.parse().unwrap();
        let example = example(&model, case.target, case.line);
        let by_hand = |edits: &[String]| (case.by_hand)(&run(&model, &example, case.masked, edits));
        let what = format!("{} {}", case.model, case.target);
        let examples = Arc::new(vec![example.clone()]);
        let mut experiment = LeaveOneOut { examples: examples.clone(), target: target.clone() };
        let found = experiment.run(&model, &mut |_| Ok(())).unwrap().downcast::<Importance>().unwrap();
        assert!((found.plain - by_hand(&[])).abs() < 1e-5, "{what}: {} {}", found.plain, by_hand(&[]));
        for head in HeadId::all(2, 2) {
            let expected = by_hand(&[]) - by_hand(&[format!("{head}=zero")]);
            let effect = found.effect[[head.layer, head.head]];
            assert!((effect - expected).abs() < 1e-5, "{what}, {head}: {effect} {expected}");
        }
        let heads: Vec<HeadId> = found.ranked().into_iter().map(|(head, ..)| head).collect();
        let order = Order { name: "ranked".into(), heads: heads.clone() };
        let mut sweep = Sweep { examples, target, orders: vec![order] };
        let curves = sweep.run(&model, &mut |_| Ok(())).unwrap().downcast::<SweepOutcome>().unwrap().curves;
        for (gone, value) in curves[0].values.iter().enumerate() {
            let edits: Vec<String> = heads[..gone].iter().map(|head| format!("{head}=zero")).collect();
            assert!((value - by_hand(&edits)).abs() < 1e-5, "{what}, {gone} off");
        }
    }
}

#[test]
fn gradients_of_task_targets_equal_finite_differences() {
    for case in cases().into_iter().filter(|case| case.target != "accuracy") {
        let model = Model::open(&support::task_model(case.model)).unwrap();
        let example = example(&model, case.target, case.line);
        let found = gradients(&model, &case.target.parse().unwrap(), &example).unwrap();
        let scaled = |head: HeadId, gate: f32| {
            f64::from((case.by_hand)(&run(&model, &example, case.masked, &[format!("{head}=scale:{gate}")])))
        };
        for head in HeadId::all(2, 2) {
            let slope = |step: f32| (scaled(head, 1.0 + step) - scaled(head, 1.0 - step)) / (2.0 * f64::from(step));
            let expected = (4.0 * slope(0.01) - slope(0.02)) / 3.0;
            let gradient = f64::from(found[[head.layer, head.head]]);
            let what = format!("{} {}, {head}: {gradient} {expected}", case.model, case.target);
            assert!((gradient - expected).abs() <= 1e-3 + 0.01 * expected.abs(), "{what}");
        }
        assert!(found.iter().any(|gradient| gradient.abs() > 1e-4), "{} {}", case.model, case.target);
    }
}

#[test]
fn of_many_labels_each_holds_or_not_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(support::task_model("sequence")).unwrap().flatten() {
        std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    let path = folder.path().join("config.json");
    let config = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, config.replacen('{', r#"{"problem_type": "multi_label_classification","#, 1)).unwrap();
    let model = Model::open(folder.path()).unwrap();
    assert_eq!(model.info().tasks[0].scale, Scale::Sigmoid);
    let found = |target: &str, line: &str| {
        let examples = Arc::new(vec![example(&model, target, line)]);
        let mut experiment = LeaveOneOut { examples, target: target.parse().unwrap() };
        experiment.run(&model, &mut |_| Ok(())).unwrap().downcast::<Importance>().unwrap().plain
    };
    let plain = run(&model, &example(&model, "self", "the cat sat"), &[], &[]);
    let likely = Scale::Sigmoid.apply(&logits(&plain, 0));
    assert!((found("class:glad", "the cat sat") - likely[2]).abs() < 1e-6);
    let by_hand = -(likely[0].ln() + (1.0 - likely[1]).ln() + likely[2].ln()) / 3.0;
    assert!((found("loss", "the cat sat\tsad, glad") - by_hand).abs() < 1e-5);
    let holding: Vec<&str> =
        ["sad", "so-so", "glad"].into_iter().zip(&likely).filter(|(_, p)| **p > 0.5).map(|(name, _)| name).collect();
    assert_eq!(found("accuracy", &format!("the cat sat\t{}", holding.join(","))), 1.0);
    let wrong = if holding.contains(&"sad") { "" } else { "sad" };
    assert_eq!(found("accuracy", &format!("the cat sat\t{wrong}")), 0.0);
}

#[test]
fn of_a_cost_the_most_important_head_is_the_one_whose_loss_costs_most() {
    let model = Model::open(&support::task_model("sequence")).unwrap();
    let examples = Arc::new(vec![example(&model, "loss", "the cat sat\tglad")]);
    let mut experiment = LeaveOneOut { examples, target: Target::Loss };
    let found = experiment.run(&model, &mut |_| Ok(())).unwrap().downcast::<Importance>().unwrap();
    let effects: Vec<f32> = found.ranked().into_iter().map(|(_, effect, _)| effect).collect();
    assert!(effects.is_sorted(), "{effects:?}: the loss rises most without the first");
    let (mean, deviation) = found.random_head();
    assert!((mean - effects.iter().sum::<f32>() / 4.0).abs() < 1e-6 && deviation > 0.0);
}

#[test]
fn what_a_model_cannot_answer_is_refused_with_what_it_can() {
    let refused = |name: &str, target: &str, line: &str| {
        let model = Model::open(&support::task_model(name)).unwrap();
        let examples = Arc::new(vec![example(&model, target, line)]);
        let mut experiment = LeaveOneOut { examples, target: target.parse().unwrap() };
        experiment.run(&model, &mut |_| Ok(())).expect_err("refused").to_string()
    };
    assert!(refused("sequence", "class:angry", "a").contains("this model has sad, so-so, glad"));
    assert!(refused("token", "class:O", "a").contains("no head for sequence classification"));
    assert!(refused("sequence", "word:1=cat", "a").contains("no head for masked language model"));
    assert!(refused("pretraining", "word:0=cat", "a").contains("token 0 cannot be masked"));
    assert!(refused("pretraining", "word:1=catapult", "a").contains("is no piece"));
    assert!(refused("pretraining", "loss", "a [MASK]\tcat dog").contains("1 [MASK], and the answer “cat dog” 2"));
    assert!(refused("token", "loss", "the cat\tO").contains("has 2 words, and the answer “O” 1"));
    assert!(refused("question", "loss", "who\tthe cat\tdog").contains("does not stand in the text"));
    assert!(refused("regression", "accuracy", "a\t1").contains("a regression has no accuracy"));
    assert!(refused("regression", "loss", "a\tone").contains("“one” is no number"));
    let model = Model::open(&support::tiny_model()).unwrap();
    let examples = Arc::new(vec![Example { answer: Some("x".into()), ..Example::default() }]);
    let error = LeaveOneOut { examples: examples.clone(), target: Target::Loss }.run(&model, &mut |_| Ok(()));
    assert!(error.err().unwrap().to_string().contains("need a model with a task head"));
    for (target, wanted) in [(Target::Own, "its gradient is 0"), (Target::Loss, "task head")] {
        let error = GradientImportance { examples: examples.clone(), target }.run(&model, &mut |_| Ok(()));
        assert!(error.err().unwrap().to_string().contains(wanted));
    }
    let model = Model::open(&support::task_model("sequence")).unwrap();
    let examples = Arc::new(vec![example(&model, "accuracy", "a\tsad")]);
    let error = GradientImportance { examples, target: Target::Accuracy }.run(&model, &mut |_| Ok(()));
    assert!(error.err().unwrap().to_string().contains("accuracy goes in steps"));
    assert_eq!(model.info().tasks[0].task, Task::SequenceClassification);
}
