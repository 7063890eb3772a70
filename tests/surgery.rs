//! Interventions are what they say they are: each is held against the same thing done another way.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

mod support;

use std::path::Path;
use std::sync::Arc;

use headlight::model::{Batch, Capture, Encoder, Model, Plan, Sources, Surgery};
use headlight::run::{Edit, HeadId, Input, Run, Texts, write_safetensors};
use ndarray::Array2;
use safetensors::SafeTensors;
use safetensors::tensor::TensorView;

const TEXT: &str = "the cat sat on the mat";
const LAYERS: usize = 3;
const HEADS: usize = 4;
const HEAD_DIM: usize = 6;

fn model() -> Model {
    Model::open(&support::tiny_model()).unwrap()
}

fn edits(words: &[&str]) -> Vec<Edit> {
    words.iter().map(|word| word.parse().unwrap()).collect()
}

fn input(model: &Model, text: &str) -> Input {
    model.tokenize(&support::single(text)).unwrap()
}

fn run(model: &Model, text: &str, words: &[&str]) -> Run {
    model.run_edited(input(model, text), &edits(words), &mut ()).unwrap()
}

fn refused(model: &Model, text: &str, word: &str) -> String {
    model.run_edited(input(model, text), &edits(&[word]), &mut ()).unwrap_err().to_string()
}

fn hidden_difference(a: &Run, b: &Run) -> f32 {
    let pairs = a.hidden.iter().flat_map(|layer| layer.iter()).zip(b.hidden.iter().flat_map(|layer| layer.iter()));
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

fn attention_difference(a: &Run, b: &Run) -> f32 {
    a.attention.iter().zip(b.attention.iter()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

fn assert_same_to_the_bit(a: &Run, b: &Run, what: &str) {
    assert_eq!(attention_difference(a, b), 0.0, "{what}");
    assert_eq!(hidden_difference(a, b), 0.0, "{what}");
    assert_eq!(a.embedding, b.embedding, "{what}");
}

/// A copy of the tiny model with some of its weights changed by hand.
fn with_weights(change: impl Fn(&str, &mut Array2<f32>)) -> (tempfile::TempDir, Model) {
    let folder = tempfile::tempdir().unwrap();
    for file in ["config.json", "vocab.txt", "tokenizer_config.json"] {
        std::fs::copy(support::tiny_model().join(file), folder.path().join(file)).unwrap();
    }
    let bytes = std::fs::read(support::tiny_model().join("model.safetensors")).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let changed: Vec<(String, Vec<usize>, Vec<u8>)> = tensors
        .tensors()
        .into_iter()
        .map(|(name, view)| {
            let numbers: Vec<f32> =
                view.data().chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect();
            // A bias is a matrix of one column here.
            let shape = [view.shape()[0], view.shape().get(1).copied().unwrap_or(1)];
            let mut array = Array2::from_shape_vec(shape, numbers).unwrap();
            change(&name, &mut array);
            (name, view.shape().to_vec(), array.iter().flat_map(|number| number.to_le_bytes()).collect())
        })
        .collect();
    let views = changed.iter().map(|(name, shape, bytes)| {
        (name.clone(), TensorView::new(safetensors::Dtype::F32, shape.clone(), bytes).unwrap())
    });
    safetensors::serialize_to_file(views, None, &folder.path().join("model.safetensors")).unwrap();
    let model = Model::open(folder.path()).unwrap();
    (folder, model)
}

fn columns_of(head: usize) -> std::ops::Range<usize> {
    head * HEAD_DIM..(head + 1) * HEAD_DIM
}

#[test]
fn zero_equals_columns_of_w_o_zeroed_by_hand() {
    let model = model();
    for head in HeadId::all(LAYERS, HEADS) {
        let name = format!("encoder.layer.{}.attention.output.dense.weight", head.layer);
        let (_folder, pruned) = with_weights(|weight, array| {
            if weight.ends_with(&name) {
                array.slice_mut(ndarray::s![.., columns_of(head.head)]).fill(0.0);
            }
        });
        let edited = run(&model, TEXT, &[&format!("{head}=zero")]);
        let difference = hidden_difference(&edited, &run(&pruned, TEXT, &[]));
        assert!(difference <= 1e-5, "{head}: {difference}");
        assert!(hidden_difference(&edited, &run(&model, TEXT, &[])) > 1e-3, "{head}: zero changed nothing");
    }
}

#[test]
fn uniform_equals_query_and_key_weights_zeroed_by_hand() {
    let model = model();
    let head = HeadId::new(1, 2);
    let (_folder, flat) = with_weights(|weight, array| {
        let own = |part: &str| weight.contains(&format!("encoder.layer.{}.attention.self.{part}.", head.layer));
        if own("query") || own("key") {
            array.slice_mut(ndarray::s![columns_of(head.head), ..]).fill(0.0);
        }
    });
    let (edited, by_hand) = (run(&model, TEXT, &["1.2=uniform"]), run(&flat, TEXT, &[]));
    assert!(hidden_difference(&edited, &by_hand) <= 1e-5);
    assert!(attention_difference(&edited, &by_hand) <= 1e-6);
    assert!(edited.attention.head(head).unwrap().iter().all(|weight| (weight - 1.0 / 8.0).abs() < 1e-7));
}

#[test]
fn all_gates_at_1_are_the_plain_run_to_the_bit() {
    let model = model();
    let plain = run(&model, TEXT, &[]);
    assert_same_to_the_bit(&run(&model, TEXT, &["*.*=scale:1"]), &plain, "scale:1 everywhere");
    // A later scale wins, so this is no change either.
    assert_same_to_the_bit(&run(&model, TEXT, &["2.1=scale:0", "2.1=scale:1"]), &plain, "the last scale wins");
}

#[test]
fn scale_0_is_zero_and_a_negative_scale_is_taken() {
    let model = model();
    assert!(hidden_difference(&run(&model, TEXT, &["1.*=scale:0"]), &run(&model, TEXT, &["1.*=zero"])) <= 1e-6);
    let negative = run(&model, TEXT, &["1.0=scale:-1"]);
    assert!(hidden_difference(&negative, &run(&model, TEXT, &["1.0=zero"])) > 1e-3);
}

#[test]
fn capture_then_patch_from_the_same_run_changes_nothing() {
    let model = model();
    let plain = run(&model, TEXT, &[]);
    for part in ["weights", "context"] {
        let text = run(&model, TEXT, &[&format!("*.*=patch:{part}@text:{TEXT}")]);
        assert_same_to_the_bit(&text, &plain, part);
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.safetensors");
    write_safetensors(&plain, &file).unwrap();
    for word in ["patch:weights", "patch:context", "freeze"] {
        let from_file = run(&model, TEXT, &[&format!("*.*={word}@{}", file.display())]);
        assert_same_to_the_bit(&from_file, &plain, word);
    }
}

#[test]
fn patching_takes_the_other_runs_numbers() {
    let model = model();
    let other = run(&model, "a dog sat on a mat", &[]);
    let patched = run(&model, TEXT, &["1.2=patch:weights@text:a dog sat on a mat"]);
    let head = HeadId::new(1, 2);
    assert_eq!(patched.attention.head(head).unwrap(), other.attention.head(head).unwrap());
    let context = run(&model, TEXT, &["1.2=patch:context@text:a dog sat on a mat"]);
    let of = |run: &Run| run.context[1].index_axis(ndarray::Axis(0), 2).to_owned();
    assert_eq!(of(&context), of(&other));
    assert_eq!(
        attention_difference(&context, &run(&model, TEXT, &[])).partial_cmp(&0.0),
        Some(std::cmp::Ordering::Greater)
    );
}

#[test]
fn freeze_on_the_same_text_changes_nothing_and_on_another_says_how_well_it_fits() {
    let model = model();
    let frozen = run(&model, TEXT, &[&format!("*.*=freeze@text:{TEXT}")]);
    assert_same_to_the_bit(&frozen, &run(&model, TEXT, &[]), "freeze");
    assert!(frozen.remarks.is_empty());
    let longer = run(&model, "the cat sat on the big mat", &[&format!("2.3=freeze@text:{TEXT}")]);
    // “big” is three pieces: b, i, g have no partner among the eleven tokens… as the tokenizer cuts it.
    assert!(longer.remarks[0].contains("of the rows are aligned"), "{:?}", longer.remarks);
    let (now, then) = (longer.attention.head(HeadId::new(2, 3)).unwrap(), run(&model, TEXT, &[]));
    let then = then.attention.head(HeadId::new(2, 3)).unwrap();
    assert!(now.rows().into_iter().all(|row| (row.sum() - 1.0).abs() < 1e-5));
    // An aligned pair keeps its share of what it can see: [CLS] of the first two words.
    let ratio = |map: &ndarray::ArrayView2<'_, f32>| map[[1, 0]] / map[[1, 2]];
    assert!((ratio(&now) / ratio(&then) - 1.0).abs() < 1e-3);
}

#[test]
fn a_cut_edge_has_no_weight_and_its_row_still_sums_to_1() {
    let model = model();
    let plain = run(&model, TEXT, &[]);
    let cut = run(&model, TEXT, &["0.1=cut:2>3", "0.1=cut:4>0", "0.1=cut:*>7"]);
    let (map, before) =
        (cut.attention.head(HeadId::new(0, 1)).unwrap(), plain.attention.head(HeadId::new(0, 1)).unwrap());
    assert_eq!((map[[2, 3]], map[[4, 0]]), (0.0, 0.0));
    assert!(map.column(7).iter().all(|weight| *weight == 0.0));
    for (row, old) in map.rows().into_iter().zip(before.rows()) {
        assert!((row.sum() - 1.0).abs() < 1e-6);
        // What is left is in proportion to what was.
        let left: f32 = row.iter().zip(old).filter(|(new, _)| **new > 0.0).map(|(_, old)| old).sum();
        for (new, old) in row.iter().zip(old).filter(|(new, _)| **new > 0.0) {
            assert!((new - old / left).abs() < 1e-5);
        }
    }
    let computed = cut.computed.as_ref().unwrap();
    let own = computed.head(HeadId::new(0, 1)).unwrap();
    assert!(own.iter().zip(&before).all(|(a, b)| (a - b).abs() < 1e-6), "the model's own weights are kept beside");
}

#[test]
fn a_fully_cut_row_is_all_zero_and_its_context_is_zero() {
    let model = model();
    for words in [vec!["1.1=cut:3>*"], vec!["1.1=uniform", "1.1=cut:3>*"]] {
        let cut = run(&model, TEXT, &words);
        let map = cut.attention.head(HeadId::new(1, 1)).unwrap();
        assert!(map.row(3).iter().all(|weight| *weight == 0.0), "{words:?}");
        assert!((map.row(2).sum() - 1.0).abs() < 1e-6);
        let context = cut.context[1].index_axis(ndarray::Axis(0), 1).row(3).to_owned();
        assert!(context.iter().all(|number| *number == 0.0));
        assert!(cut.hidden.iter().all(|layer| layer.iter().all(|number| number.is_finite())));
    }
}

#[test]
fn causal_looks_only_left_also_on_replaced_weights() {
    let model = model();
    for words in [vec!["2.0=causal"], vec!["2.0=causal", "2.0=uniform"]] {
        let causal = run(&model, TEXT, &words);
        let map = causal.attention.head(HeadId::new(2, 0)).unwrap();
        for ((query, key), weight) in map.indexed_iter() {
            assert!(if key > query { *weight == 0.0 } else { *weight > 0.0 }, "{words:?}: {query} → {key}: {weight}");
        }
        assert!(map.rows().into_iter().all(|row| (row.sum() - 1.0).abs() < 1e-6));
    }
    let map = run(&model, TEXT, &["2.0=uniform", "2.0=causal"]);
    assert!((map.attention.head(HeadId::new(2, 0)).unwrap()[[3, 1]] - 0.25).abs() < 1e-6);
}

#[test]
fn the_last_of_several_weights_or_contexts_wins() {
    let model = model();
    let other = format!("1.0=patch:weights@text:{TEXT}");
    let last_uniform = run(&model, TEXT, &[&other, "1.0=uniform"]);
    assert_same_to_the_bit(&last_uniform, &run(&model, TEXT, &["1.0=uniform"]), "uniform was last");
    assert_same_to_the_bit(&run(&model, TEXT, &["1.0=uniform", &other]), &run(&model, TEXT, &[]), "patch was last");
    let mean = run(&model, TEXT, &["1.0=zero", "1.0=mean"]);
    assert_same_to_the_bit(&mean, &run(&model, TEXT, &["1.0=mean"]), "mean was last");
}

#[test]
fn mean_hands_every_token_the_mean_of_the_text_or_of_a_corpus() {
    let model = model();
    let plain = run(&model, TEXT, &[]);
    let of = |run: &Run| run.context[0].index_axis(ndarray::Axis(0), 3).to_owned();
    let mean = of(&plain).mean_axis(ndarray::Axis(0)).unwrap();
    for row in of(&run(&model, TEXT, &["0.3=mean"])).rows() {
        assert!(row.iter().zip(&mean).all(|(a, b)| (a - b).abs() < 1e-6));
    }
    let folder = tempfile::tempdir().unwrap();
    let corpus = folder.path().join("corpus.txt");
    std::fs::write(&corpus, "the cat\n\na dog sat\r\n").unwrap();
    let (a, b) = (of(&run(&model, "the cat", &[])), of(&run(&model, "a dog sat", &[])));
    let sum = a.sum_axis(ndarray::Axis(0)) + b.sum_axis(ndarray::Axis(0));
    let mean = sum / (a.nrows() + b.nrows()) as f32;
    for row in of(&run(&model, TEXT, &[&format!("0.3=mean@{}", corpus.display())])).rows() {
        assert!(row.iter().zip(&mean).all(|(a, b)| (a - b).abs() < 1e-5));
    }
    std::fs::write(&corpus, " \n").unwrap();
    assert!(refused(&model, TEXT, &format!("0.3=mean@{}", corpus.display())).contains("holds no text"));
    assert!(refused(&model, TEXT, "0.3=mean@no/such.txt").contains("no/such.txt"));
}

#[test]
fn a_mean_over_a_corpus_can_be_stopped_gone_on_with_and_is_kept() {
    let model = model();
    let folder = tempfile::tempdir().unwrap();
    let (corpus, kept) = (folder.path().join("corpus.txt"), folder.path().join("means"));
    std::fs::write(&corpus, "the cat\na dog sat\non the mat\nwalking\n").unwrap();
    let words = [format!("0.3=mean@{}", corpus.display())];
    let words = edits(&words.each_ref().map(String::as_str));
    let mut sources = Sources::kept_in(kept.clone());
    let mut seen = Vec::new();
    let mut prepare = |sources: &mut Sources, stop: usize| {
        sources.prepare(&model, &words, &mut |done, total| {
            seen.push((done, total));
            if done == stop { Err(headlight::model::ModelError::Stopped) } else { Ok(()) }
        })
    };
    assert!(matches!(prepare(&mut sources, 2), Err(headlight::model::ModelError::Stopped)));
    assert!(!kept.exists());
    prepare(&mut sources, 9).unwrap();
    prepare(&mut sources, 0).unwrap(); // it is known now, and nothing is to be done
    assert_eq!(seen, [(0, 4), (1, 4), (2, 4), (2, 4), (3, 4)], "what was done was not done again");
    let run = |sources: &mut Sources| {
        let recipe =
            headlight::run::Recipe { edits: words.clone(), ..headlight::run::Recipe::plain(Texts::single(TEXT)) };
        model.run_recipe(&recipe, sources).unwrap()
    };
    let whole = model.run_edited(input(&model, TEXT), &words, &mut ()).unwrap();
    assert!(hidden_difference(&run(&mut sources), &whole) <= 1e-6);
    // Another start finds it; another model, another text or a damaged file do not take it.
    let mut again = 0;
    let mut count = |sources: &mut Sources, model: &Model| {
        again = 0;
        let counted = sources.prepare(model, &words, &mut |_, _| {
            again += 1;
            Ok(())
        });
        counted.unwrap();
        again
    };
    let mut later = Sources::kept_in(kept.clone());
    assert_eq!(count(&mut later, &model), 0);
    assert_same_to_the_bit(&run(&mut later), &run(&mut sources), "kept");
    let (_other, other) = with_weights(|name, array| {
        if name.ends_with("LayerNorm.bias") {
            array.fill(0.5);
        }
    });
    assert_eq!(count(&mut Sources::kept_in(kept.clone()), &other), 4);
    for entry in std::fs::read_dir(&kept).unwrap().flatten() {
        std::fs::write(entry.path(), "no tensors").unwrap();
    }
    assert_eq!(count(&mut Sources::kept_in(kept.clone()), &model), 4);
    std::fs::write(&corpus, "the cat\n").unwrap();
    assert_eq!(count(&mut later, &model), 1, "the file has changed since");
}

#[test]
fn a_source_can_be_a_pair_masked_or_edited_itself() {
    let model = model();
    let pair = Texts::pair("the cat sat", "a dog");
    let tokens = |texts: &Texts| model.tokenize(&Arc::new(texts.clone())).unwrap();
    let plain = model.run(tokens(&pair), &mut ()).unwrap();
    let frozen = model.run_edited(tokens(&pair), &edits(&["*.*=freeze@text:the cat sat\ta dog"]), &mut ()).unwrap();
    assert_same_to_the_bit(&frozen, &plain, "freeze on a pair");
    let recipe = r#"run:{"texts":{"a":"the cat sat","b":"a dog"},"masked":[2],"edits":["0.*=zero"]}"#;
    let mut masked = tokens(&pair);
    model.mask(&mut masked, &[2]).unwrap();
    let source = model.run_edited(masked, &edits(&["0.*=zero"]), &mut ()).unwrap();
    let patched = model.run_edited(tokens(&pair), &edits(&[&format!("2.1=patch:weights@{recipe}")]), &mut ()).unwrap();
    let head = HeadId::new(2, 1);
    assert_eq!(patched.attention.head(head).unwrap(), source.attention.head(head).unwrap());
    assert_ne!(patched.attention.head(head).unwrap(), plain.attention.head(head).unwrap());
}

#[test]
fn all_heads_of_a_layer_off_gives_finite_output() {
    let model = model();
    for words in [["1.*=zero"], ["*.*=zero"]] {
        let off = run(&model, TEXT, &words);
        assert!(off.hidden.iter().all(|layer| layer.iter().all(|number| number.is_finite())));
    }
}

#[test]
fn what_does_not_fit_is_refused_with_the_valid_range_or_both_counts() {
    let model = model();
    assert!(refused(&model, TEXT, "9.99=zero").contains("layers 0 to 2 and heads 0 to 3"));
    assert!(refused(&model, TEXT, "0.0=cut:8>0").contains("token 8, but this text has tokens 0 to 7"));
    let other = refused(&model, TEXT, "0.0=patch:weights@text:the cat");
    assert!(other.contains("4 tokens") && other.contains("has 8"), "{other}");
    assert!(refused(&model, TEXT, "0.0=freeze@no/such.file").contains("no/such.file cannot be taken from"));
    let weights = Path::new("tests/golden/tiny-bert/model.safetensors");
    assert!(refused(&model, TEXT, &format!("0.0=freeze@{}", weights.display())).contains("did not write it"));
}

#[test]
fn going_on_from_a_cached_run_equals_computing_everything() {
    let model = model();
    let names = ["zero", "scale:0.5", "uniform", "mean", "causal", "cut:2>3", "cut:*>0", "freeze@text:a dog sat"];
    for seed in 0..40 {
        let mut random = support::seeded(seed);
        let mut sources = Sources::default();
        let mut base: Option<headlight::model::Traced> = None;
        let mut words: Vec<Edit> = Vec::new();
        for step in 0..8 {
            if !words.is_empty() && random.bool() {
                words.remove(random.usize(0..words.len()));
            } else {
                let star = |random: &mut fastrand::Rng, most: usize| match random.usize(0..=most) {
                    all if all == most => "*".to_owned(),
                    number => number.to_string(),
                };
                let (layer, head) = (star(&mut random, LAYERS), star(&mut random, HEADS));
                words.push(format!("{layer}.{head}={}", names[random.usize(0..names.len())]).parse().unwrap());
            }
            let plan = Plan::new(&model, &input(&model, TEXT), &words, &mut sources).unwrap();
            let traced = model.trace(input(&model, TEXT), plan, words.clone(), base.as_ref(), &mut ()).unwrap();
            let whole = model.run_edited(input(&model, TEXT), &words, &mut ()).unwrap();
            let what = format!("seed {seed}, step {step}: {words:?}");
            assert!(hidden_difference(traced.run(), &whole) <= 1e-5, "{what}");
            assert!(attention_difference(traced.run(), &whole) <= 1e-5, "{what}");
            let computed = |run: &Run| run.computed.as_ref().map(|maps| maps.iter().collect::<Vec<_>>());
            let (a, b) = (computed(traced.run()), computed(&whole));
            assert_eq!(a.is_some(), b.is_some(), "{what}");
            let pairs = a.into_iter().flatten().zip(b.into_iter().flatten());
            assert!(pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max) <= 1e-5, "{what}: computed weights");
            base = Some(traced);
        }
    }
}

#[test]
fn padded_batches_and_pairs_behave_like_single_texts() {
    let model = model();
    let encoder = Encoder::load(&support::tiny_model()).unwrap();
    let pair = model.tokenize(&Arc::new(Texts::pair("the cat sat", "on the mat"))).unwrap();
    let short = input(&model, "the dog");
    for words in [["0.1=uniform"], ["1.*=mean"], ["1.2=cut:1>2"], ["*.0=causal"], ["2.3=zero"], ["0.*=scale:3"]] {
        let edits = edits(&words);
        let plan = Plan::new(&model, &short, &edits, &mut Sources::default()).unwrap();
        let batch = Batch::from_tokens(&[&pair.tokens, &short.tokens]).unwrap();
        let (mut surgery, mut capture) = (Surgery::new(&plan, &batch).unwrap(), Capture::default());
        drop(encoder.forward(&batch, &mut (&mut surgery, &mut capture)).unwrap());
        for (row, input) in [&pair, &short].into_iter().enumerate() {
            let alone = model.run_edited(input.clone(), &edits, &mut ()).unwrap();
            let n = input.tokens.len();
            let maps = capture.maps(row, n).unwrap();
            let most = maps.iter().zip(alone.attention.iter()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(most <= 1e-5, "{words:?}, row {row}: attention differs by {most}");
            let hidden = capture.hidden(row, n).unwrap();
            let last = hidden.last().unwrap().iter().zip(alone.last_hidden_state().unwrap());
            assert!(last.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max) <= 1e-5, "{words:?}, row {row}");
        }
    }
}
