//! Experiments give what their documentation says, with progress, and end when they are told to.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

mod support;

use std::sync::Arc;

use headlight::engine::Experiment;
use headlight::lab::{
    CellOrigin, Curve, Example, GradientImportance, Importance, Inside, LeaveOneOut, Nearest, NearestOutcome, Order,
    Sensitivity, Sweep, SweepOutcome, Target, gradients,
};
use headlight::metrics::cosine;
use headlight::model::{Batch, Encoder, Model, ModelError, Sources};
use headlight::run::{Edit, HeadId, Recipe, Texts};

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
        model.run_edited(input, edits, &mut ()).unwrap().embedding.unwrap().values
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

fn examples(texts: Vec<Texts>) -> Arc<Vec<Example>> {
    Arc::new(texts.into_iter().map(Example::from).collect())
}

fn importance(model: &Model, texts: Vec<Texts>, target: Target) -> Importance {
    let mut experiment = LeaveOneOut { examples: examples(texts), target };
    *experiment.run(model, &mut |_| Ok(())).unwrap().downcast::<Importance>().unwrap()
}

/// The vector of a text without one head, by an edited run of its own.
fn without(model: &Model, text: &str, head: Option<HeadId>) -> ndarray::Array1<f32> {
    let edits: Vec<Edit> = head.iter().map(|head| format!("{head}=zero").parse().unwrap()).collect();
    let input = model.tokenize(&support::single(text)).unwrap();
    model.run_edited(input, &edits, &mut ()).unwrap().embedding.unwrap().values
}

#[test]
fn leave_one_out_equals_zeroing_each_head_in_a_run_of_its_own() {
    let model = Model::open(&support::tiny_model()).unwrap();
    let texts = ["the cat sat on the mat", "a dog", "walking"];
    let own = importance(&model, texts.map(Texts::single).to_vec(), Target::Own);
    assert!((own.plain - 1.0).abs() < 1e-6);
    let pairs = vec![Texts::pair("the cat sat", "a dog"), Texts::pair("on the mat", "walking")];
    let similarity = importance(&model, pairs.clone(), Target::Similarity);
    for head in HeadId::all(3, 4) {
        let effect =
            |text: &str| 1.0 - cosine(without(&model, text, Some(head)).view(), without(&model, text, None).view());
        let mean = texts.map(effect).iter().sum::<f32>() / 3.0;
        assert!((own.effect[[head.layer, head.head]] - mean).abs() < 1e-5, "{head}");
        let together = |texts: &Texts, head| {
            let b = texts.b.as_deref().unwrap();
            cosine(without(&model, &texts.a, head).view(), without(&model, b, head).view())
        };
        let change: Vec<f32> = pairs.iter().map(|texts| together(texts, None) - together(texts, Some(head))).collect();
        let mean = (change[0] + change[1]) / 2.0;
        assert!((similarity.effect[[head.layer, head.head]] - mean).abs() < 1e-5, "{head}");
        // Of two values, the standard error of the mean is half their distance.
        let half_width = 1.959_964 * (change[0] - change[1]).abs() / 2.0;
        let found = similarity.interval.as_ref().unwrap()[[head.layer, head.head]];
        assert!((found - half_width).abs() < 1e-4, "{head}: {found} {half_width}");
    }
    assert!(importance(&model, vec![Texts::single("the cat")], Target::Own).interval.is_none());
}

#[test]
fn a_curve_equals_switching_the_heads_off_one_after_the_other() {
    let model = Model::open(&support::tiny_model()).unwrap();
    let mut heads: Vec<HeadId> = HeadId::all(3, 4).collect();
    support::seeded(7).shuffle(&mut heads);
    let texts = ["the cat sat", "a dog"];
    let order = Order { name: "shuffled".into(), heads: heads.clone() };
    let mut sweep =
        Sweep { examples: examples(texts.map(Texts::single).to_vec()), target: Target::Own, orders: vec![order] };
    let outcome = sweep.run(&model, &mut |_| Ok(())).unwrap().downcast::<SweepOutcome>().unwrap();
    let curve = &outcome.curves[0].values;
    assert_eq!(curve.len(), 13);
    for (gone, value) in curve.iter().enumerate() {
        let edits: Vec<Edit> = heads[..gone].iter().map(|head| format!("{head}=zero").parse().unwrap()).collect();
        let of = |text: &str| {
            let input = model.tokenize(&support::single(text)).unwrap();
            let now = model.run_edited(input, &edits, &mut ()).unwrap().embedding.unwrap().values;
            cosine(without(&model, text, None).view(), now.view())
        };
        let mean = (of(texts[0]) + of(texts[1])) / 2.0;
        assert!((value - mean).abs() < 1e-5, "{gone} heads off: {value} {mean}");
    }
}

#[test]
fn the_stop_rule_counts_heads_until_the_first_that_costs_too_much() {
    let curve = |values: &[f32]| Curve { name: String::new(), values: values.to_vec() };
    assert_eq!(curve(&[1.0, 0.999, 0.995, 0.98, 0.999]).heads_within(0.01), 2);
    assert_eq!(curve(&[1.0, 0.5]).heads_within(0.01), 0);
    assert_eq!(curve(&[0.5, 0.5, 0.51]).heads_within(0.01), 1, "away from it on either side");
    assert_eq!(curve(&[1.0, 1.0, 1.0]).heads_within(0.0), 2);
}

#[test]
fn the_differentiable_pass_equals_the_fast_one() {
    let encoder = Encoder::load(&support::tiny_model()).unwrap();
    let batch = Batch::from_ids(&[&[2, 36, 37, 40, 3], &[2, 5, 3]]).unwrap();
    let fast = encoder.forward(&batch, &mut ()).unwrap();
    let slow = encoder.forward_differentiable(&batch, &mut ()).unwrap();
    assert!((fast - slow).abs().max().double_value(&[]) <= 1e-6);
}

#[test]
fn gradients_equal_finite_differences() {
    let model = Model::open(&support::tiny_model()).unwrap();
    let pair = Texts::pair("the cat sat on the mat", "a dog walks");
    let found = gradients(&model, &Target::Similarity, &pair.clone().into()).unwrap();
    let similarity = |head: HeadId, gate: f32| {
        let edit: Edit = format!("{head}=scale:{gate}").parse().unwrap();
        let of = |text: &str| {
            let input = model.tokenize(&support::single(text)).unwrap();
            model.run_edited(input, std::slice::from_ref(&edit), &mut ()).unwrap().embedding.unwrap().values
        };
        f64::from(cosine(of(&pair.a).view(), of(pair.b.as_deref().unwrap()).view()))
    };
    for head in HeadId::all(3, 4) {
        let slope = |step: f32| (similarity(head, 1.0 + step) - similarity(head, 1.0 - step)) / (2.0 * f64::from(step));
        // Richardson's rule takes the curve's bend out.
        let expected = (4.0 * slope(0.01) - slope(0.02)) / 3.0;
        let gradient = f64::from(found[[head.layer, head.head]]);
        // Cosines in f32 carry some 1e-7, which the small step magnifies.
        assert!((gradient - expected).abs() <= 2e-4 + 0.01 * expected.abs(), "{head}: {gradient} {expected}");
    }
    assert!(found.iter().any(|gradient| gradient.abs() > 1e-3));
}

#[test]
fn gradient_importance_is_the_mean_of_absolute_values_scaled_in_each_layer() {
    let model = Model::open(&support::tiny_model()).unwrap();
    let pairs = vec![Texts::pair("the cat sat", "a dog"), Texts::pair("on the mat", "walking")];
    let mut experiment = GradientImportance { examples: examples(pairs.clone()), target: Target::Similarity };
    let outcome = experiment.run(&model, &mut |_| Ok(())).unwrap().downcast::<Sensitivity>().unwrap();
    let sum = pairs
        .iter()
        .map(|pair| gradients(&model, &Target::Similarity, &pair.clone().into()).unwrap().mapv(f32::abs))
        .reduce(|a, b| a + b)
        .unwrap();
    assert!((&outcome.raw - &(sum / 2.0)).iter().all(|difference| difference.abs() < 1e-7));
    assert!(outcome.normalized.rows().into_iter().all(|row| (row.dot(&row) - 1.0).abs() < 1e-5));
    assert!(outcome.silent.is_empty());
    // Of a text and itself the similarity is at its maximum: no layer has a signal, and none is scaled up.
    let same = vec![Texts::pair("the cat sat", "the cat sat")];
    let silent = GradientImportance { examples: examples(same), target: Target::Similarity }
        .run(&model, &mut |_| Ok(()))
        .unwrap();
    let silent = silent.downcast::<Sensitivity>().unwrap();
    assert_eq!(silent.silent, [0, 1, 2], "{:?}", silent.raw);
    assert!(silent.normalized.iter().all(|value| *value == 0.0));
}

#[test]
fn a_look_inside_a_cell_gives_the_numbers_of_the_run() {
    let folders = ["roberta-masked-lm", "deberta-v3-masked-lm", "modernbert-masked-lm", "mpnet-masked-lm"];
    let families = folders.map(|name| support::clone_root().join("tests/golden/families").join(name));
    for folder in [support::tiny_model()].into_iter().chain(families) {
        // Any tokenizer does: only the numbers matter.
        let copy = tempfile::tempdir().unwrap();
        for file in ["config.json", "model.safetensors"] {
            std::fs::copy(folder.join(file), copy.path().join(file)).unwrap();
        }
        let words = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\ncat\nsat\n";
        std::fs::write(copy.path().join("vocab.txt"), words).unwrap();
        let class = r#"{"tokenizer_class": "BertTokenizer"}"#;
        std::fs::write(copy.path().join("tokenizer_config.json"), class).unwrap();
        let model = Model::open(copy.path()).unwrap();
        let head = HeadId::new(1, 1);
        for edits in [Vec::new(), vec!["1.1=cut:2>0".parse().unwrap()]] {
            let recipe = Recipe { edits, ..Recipe::plain(Texts::single("the cat sat")) };
            let run = model.run_recipe(&recipe, &mut Sources::default()).unwrap();
            let mut look = Inside { recipe, head, query: 2, key: 1 };
            let origin = *look.run(&model, &mut |_| Ok(())).unwrap().downcast::<CellOrigin>().unwrap();
            let row = run.attention.head(head).unwrap().row(2).to_vec();
            let near = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6);
            assert!(near(&origin.weights, &row), "{:?} {row:?}", origin.weights);
            // The scores' softmax is the row, and without edits they are q · k / √d in BERT.
            let powers: Vec<f32> = origin.scores.iter().map(|score| score.exp()).collect();
            let sum: f32 = powers.iter().sum();
            assert!(near(&powers.iter().map(|power| power / sum).collect::<Vec<_>>(), &row));
            assert!((origin.by_dimension().iter().sum::<f32>() - origin.products[1]).abs() < 1e-4);
            let plain = matches!(model.info().family.as_str(), "bert" | "roberta");
            assert_eq!(origin.beside(1).abs() < 1e-5, plain, "{}: {}", model.info().family, origin.beside(1));
            // What the head adds is its context through its part of W_O.
            let context = run.context[1].index_axis(ndarray::Axis(0), 1).row(2).to_vec();
            let output = model.encoder().head_output(1, 1).unwrap();
            let added = output.f_mv(&tch::Tensor::from_slice(&context)).unwrap();
            let length = f64::try_from(added.f_norm().unwrap()).unwrap() as f32;
            assert!((origin.total - length).abs() < 1e-5, "{} {length}", origin.total);
        }
    }
    let model = Model::open(&support::tiny_model()).unwrap();
    let far = Inside { recipe: Recipe::plain(Texts::single("a")), head: HeadId::default(), query: 9, key: 0 };
    let error = far.clone().run(&model, &mut |_| Ok(())).unwrap_err().to_string();
    assert!(error.contains("tokens 0 to 2"), "{error}");
}
