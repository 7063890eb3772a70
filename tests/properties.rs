//! What must hold of every forward pass, on random input. A failing test's output names its seed.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

mod support;

use headlight::model::{Batch, Capture, Encoder, ModelError, Probe, Site};
use tch::Tensor;

const SEEDS: std::ops::Range<u64> = 0..25;

fn random_rows(random: &mut fastrand::Rng, encoder: &Encoder) -> Vec<Vec<u32>> {
    let config = encoder.config();
    (0..random.usize(1..6))
        .map(|_| (0..random.usize(1..=config.positions)).map(|_| random.u32(0..config.vocabulary as u32)).collect())
        .collect()
}

fn batch(rows: &[Vec<u32>]) -> Batch {
    Batch::from_ids(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap()
}

fn greatest_difference(a: &Tensor, b: &Tensor) -> f64 {
    (a - b).abs().max().double_value(&[])
}

#[test]
fn rows_sum_to_one_and_padding_columns_are_zero() {
    let encoder = Encoder::load(&support::tiny_model()).unwrap();
    for seed in SEEDS {
        let mut random = support::seeded(seed);
        let rows = random_rows(&mut random, &encoder);
        let batch = batch(&rows);
        let mut capture = Capture::default();
        drop(encoder.forward(&batch, &mut capture).unwrap());
        for (index, row) in rows.iter().enumerate() {
            let maps = capture.maps(index, batch.padded()).unwrap();
            for line in (0..maps.layers()).flat_map(|layer| maps.layer(layer).unwrap().rows()) {
                assert!((line.sum() - 1.0).abs() <= 1e-5, "seed {seed}: a row sums to {}", line.sum());
                assert!(line.iter().all(|weight| (0.0..=1.0).contains(weight)), "seed {seed}");
                assert!(
                    line.iter().skip(row.len()).all(|weight| *weight == 0.0),
                    "seed {seed}: padding is attended to"
                );
            }
        }
    }
}

#[test]
fn a_batch_of_many_equals_batches_of_one() {
    let encoder = Encoder::load(&support::tiny_model()).unwrap();
    for seed in SEEDS {
        let mut random = support::seeded(seed);
        let rows = random_rows(&mut random, &encoder);
        let mut together = Capture::default();
        let all = encoder.forward(&batch(&rows), &mut together).unwrap();
        for (index, row) in rows.iter().enumerate() {
            let mut alone = Capture::default();
            let one = encoder.forward(&batch(std::slice::from_ref(row)), &mut alone).unwrap();
            let part = all.get(index as i64).narrow(0, 0, row.len() as i64);
            assert!(greatest_difference(&part, &one.get(0)) <= 1e-5, "seed {seed}: hidden state of row {index}");
            let (a, b) = (together.maps(index, row.len()).unwrap(), alone.into_single().unwrap());
            let most = a.iter().zip(b.iter()).fold(0f32, |most, (a, b)| most.max((a - b).abs()));
            assert!(most <= 1e-5, "seed {seed}: attention of row {index} differs by {most}");
        }
    }
}

#[test]
fn capturing_changes_nothing() {
    let encoder = Encoder::load(&support::tiny_model()).unwrap();
    let input = batch(&[vec![2, 36, 37, 40, 3]]);
    let plain = encoder.forward(&input, &mut ()).unwrap();
    let watched = encoder.forward(&input, &mut Capture::default()).unwrap();
    assert_eq!(greatest_difference(&plain, &watched), 0.0);
}

/// Records the shapes that it is shown.
#[derive(Default)]
struct Shapes(Vec<(usize, Site, Vec<i64>)>);

impl Probe for Shapes {
    fn visit(&mut self, layer: usize, site: Site, tensor: Tensor) -> Result<Tensor, ModelError> {
        self.0.push((layer, site, tensor.size()));
        Ok(tensor)
    }
}

#[test]
fn each_site_is_visited_in_order_with_the_documented_shape() {
    let encoder = Encoder::load(&support::tiny_model()).unwrap();
    let mut shapes = Shapes::default();
    drop(encoder.forward(&batch(&[vec![2, 36, 3], vec![2, 3]]), &mut shapes).unwrap());
    let layer = |index| {
        [
            (index, Site::Scores, vec![2, 4, 3, 3]),
            (index, Site::Weights, vec![2, 4, 3, 3]),
            (index, Site::Context, vec![2, 4, 3, 6]),
            (index, Site::Hidden, vec![2, 3, 24]),
        ]
    };
    assert_eq!(shapes.0, [layer(0), layer(1), layer(2)].concat());
}

/// Keeps what enters one layer, and can hand it back.
struct Boundary {
    layer: usize,
    hidden: Option<Tensor>,
}

impl Probe for Boundary {
    fn enter(&mut self, layer: usize, hidden: &Tensor) -> Result<(), ModelError> {
        if layer == self.layer {
            self.hidden = Some(hidden.copy());
        }
        Ok(())
    }
}

#[test]
fn going_on_from_a_layer_boundary_equals_the_whole_pass() {
    let encoder = Encoder::load(&support::tiny_model()).unwrap();
    let input = batch(&[vec![2, 36, 37, 40, 3], vec![2, 5, 3]]);
    for layer in 0..3 {
        let mut boundary = Boundary { layer, hidden: None };
        let whole = encoder.forward(&input, &mut boundary).unwrap();
        let rest = encoder.forward_from(layer, boundary.hidden.unwrap(), &input, &mut ()).unwrap();
        assert_eq!(greatest_difference(&whole, &rest), 0.0, "from layer {layer}");
    }
}

/// Puts all weight of one head on the first token.
struct ToFirst(usize, i64);

impl Probe for ToFirst {
    fn visit(&mut self, layer: usize, site: Site, tensor: Tensor) -> Result<Tensor, ModelError> {
        if (layer, site) == (self.0, Site::Weights) {
            let changed = tensor.copy();
            let _ = changed.select(1, self.1).zero_();
            let _ = changed.select(1, self.1).select(-1, 0).fill_(1.0);
            return Ok(changed);
        }
        Ok(tensor)
    }
}

#[test]
fn a_probe_changes_what_comes_after_it_and_nothing_before() {
    let encoder = Encoder::load(&support::tiny_model()).unwrap();
    let input = batch(&[vec![2, 36, 37, 40, 3]]);
    let (mut plain, mut edited) = (Capture::default(), Capture::default());
    drop(encoder.forward(&input, &mut plain).unwrap());
    drop(encoder.forward(&input, &mut (ToFirst(1, 2), &mut edited)).unwrap());
    let (plain, edited) = (plain.into_single().unwrap(), edited.into_single().unwrap());
    let head = |layer, head| headlight::run::HeadId::new(layer, head);
    for id in headlight::run::HeadId::all(3, 4) {
        let same = plain.head(id).unwrap() == edited.head(id).unwrap();
        let expected = id.layer == 0 || (id.layer == 1 && id.head != 2);
        assert_eq!(same, expected, "head {id}");
    }
    assert!(edited.head(head(1, 2)).unwrap().column(0).iter().all(|weight| *weight == 1.0));
}

#[test]
fn input_that_does_not_fit_the_model_is_refused() {
    let encoder = Encoder::load(&support::tiny_model()).unwrap();
    let refused = |rows: &[Vec<u32>]| encoder.forward(&batch(rows), &mut ()).unwrap_err().to_string();
    assert!(refused(&[vec![5; 49]]).contains("49 tokens, but this model has positions for 48"));
    assert!(refused(&[vec![49]]).contains("49 with a vocabulary of 49"));
    assert!(matches!(Batch::from_ids(&[]), Err(ModelError::Empty)));
    assert!(matches!(Batch::from_ids(&[&[1], &[]]), Err(ModelError::Empty)));
}
