//! How maps are read, measured and compared: against numbers worked out by hand.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

mod support;

use std::sync::Arc;

use headlight::figure::HeatmapFigure;
use headlight::metrics::{Comparison, Frame, HeadMetric, read_view, upper};
use headlight::run::{
    HeadId, MapRange, ModelInfo, PoolBy, Pooled, Reading, Run, Segments, Specials, Texts, Units, ViewSpec,
};
use support::runs::{model_info, run_of, run_with};

/// “[CLS] play ##ing cats [SEP]”, in which the weights of row i are 1, 2, 3, 4, 5 of 15.
fn pieces() -> Run {
    let texts = Arc::new(Texts::single("play ing cats"));
    let mut run = run_with(&model_info(1, 1), &texts, |_, _, _, key| (key + 1) as f32);
    run.input.texts = Arc::new(Texts::single("playing cats"));
    for (token, (start, end)) in [(1, (0, 4)), (2, (4, 7)), (3, (8, 12))] {
        run.input.tokens[token].span = Some(headlight::run::Span { start, end });
    }
    run.input.tokens[2].word = run.input.tokens[1].word;
    run
}

fn read(run: &Run, reading: Reading) -> (Frame, ndarray::Array2<f32>) {
    let frame = Frame::of(&run.input, reading);
    let view = ViewSpec { reading, ..ViewSpec::default() };
    let map = read_view(run, &frame, &view).unwrap().into_owned();
    (frame, map)
}

fn near(found: &[f32], wanted: &[f32]) -> bool {
    found.len() == wanted.len() && found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-6)
}

#[test]
fn words_add_up_keys_and_average_queries() {
    let run = pieces();
    let (frame, map) = read(&run, Reading { units: Units::Words, ..Reading::default() });
    assert_eq!(frame.rows, [0..1, 1..3, 3..4, 4..5]);
    for row in map.rows() {
        assert!(near(row.as_slice().unwrap(), &[1.0 / 15.0, 5.0 / 15.0, 4.0 / 15.0, 5.0 / 15.0]), "{row}");
    }
    let labels = headlight::figure::unit_labels(&run.input, &frame.columns);
    assert_eq!(labels, ["[CLS]", "playing", "cats", "[SEP]"]);
}

#[test]
fn markers_are_left_out_and_rows_renormalised_if_wanted() {
    let run = pieces();
    let (_, hidden) = read(&run, Reading { specials: Specials::Hide, ..Reading::default() });
    assert!(near(hidden.row(0).as_slice().unwrap(), &[2.0 / 15.0, 3.0 / 15.0, 4.0 / 15.0]));
    let (_, scaled) = read(&run, Reading { specials: Specials::Renormalise, ..Reading::default() });
    assert!(near(scaled.row(0).as_slice().unwrap(), &[2.0 / 9.0, 3.0 / 9.0, 4.0 / 9.0]));
    // Of a part, rows still count what they give to the other part.
    let pair = run_of(&model_info(1, 1), &Arc::new(Texts::pair("a b", "c")));
    let part = Reading { specials: Specials::Renormalise, segments: Segments::AToB, ..Reading::default() };
    let (frame, map) = read(&pair, part);
    assert_eq!((frame.rows.len(), frame.columns.len()), (2, 1));
    assert!(map[[0, 0]] < 0.1, "{map}");
}

#[test]
fn heads_are_pooled_and_ranges_are_those_of_what_is_read() {
    let run = run_of(&model_info(2, 2), &Arc::new(Texts::single("a b c")));
    let frame = Frame::of(&run.input, Reading::default());
    let heads = vec![HeadId::new(0, 0), HeadId::new(0, 1)];
    let view = |by| ViewSpec { pooled: Some(Pooled { by, heads: heads.clone() }), ..ViewSpec::default() };
    let maps = heads.iter().map(|head| run.attention.head(*head).unwrap()).collect::<Vec<_>>();
    let mean = read_view(&run, &frame, &view(PoolBy::Mean)).unwrap().into_owned();
    let most = read_view(&run, &frame, &view(PoolBy::Max)).unwrap().into_owned();
    for at in [(0, 0), (1, 2), (4, 3)] {
        assert!((mean[at] - (maps[0][at] + maps[1][at]) / 2.0).abs() < 1e-6);
        assert_eq!(most[at], maps[0][at].max(maps[1][at]));
    }
    let ranged = |range| {
        let view = ViewSpec { range, ..ViewSpec::default() };
        upper(&run.attention, &frame, &view, maps[0])
    };
    let greatest = |head| run.attention.head(head).unwrap().iter().copied().fold(0.0, f32::max);
    assert_eq!(ranged(MapRange::Head), greatest(HeadId::new(0, 0)));
    assert_eq!(ranged(MapRange::Layer), greatest(HeadId::new(0, 0)).max(greatest(HeadId::new(0, 1))));
    assert_eq!((ranged(MapRange::Unit), ranged(MapRange::Fixed(0.25))), (1.0, 0.25));
}

#[test]
fn metrics_of_heads_by_hand() {
    let run = pieces();
    let map = run.attention.head(HeadId::default()).unwrap();
    let weights = [1.0, 2.0, 3.0, 4.0, 5.0].map(|weight: f32| weight / 15.0);
    let of = |metric: HeadMetric| metric.of(map, &run.input);
    let entropy: f32 = -weights.iter().map(|weight| weight * weight.ln()).sum::<f32>();
    let distance: f32 =
        (0..5usize).map(|i| (0..5).map(|j| weights[j] * i.abs_diff(j) as f32).sum::<f32>()).sum::<f32>() / 5.0;
    for (metric, wanted) in [
        (HeadMetric::Entropy, entropy),
        (HeadMetric::Confidence, 5.0 / 15.0),
        (HeadMetric::Distance, distance),
        (HeadMetric::Previous, (1.0 + 2.0 + 3.0 + 4.0) / 15.0 / 5.0),
        (HeadMetric::Next, (2.0 + 3.0 + 4.0 + 5.0) / 15.0 / 5.0),
        (HeadMetric::Specials, 6.0 / 15.0),
        (HeadMetric::OtherText, 0.0),
    ] {
        assert!((of(metric) - wanted).abs() < 1e-5, "{}: {} {wanted}", metric.name(), of(metric));
        assert_eq!(metric.of_all(&run.attention, &run.input).dim(), (1, 1));
    }
}

#[test]
fn texts_with_other_tokens_are_compared_by_the_words_that_both_have() {
    let info = model_info(1, 2);
    let run = |text: &str| run_of(&info, &Arc::new(Texts::single(text)));
    let view = |head| ViewSpec { head: HeadId::new(0, head), ..ViewSpec::default() };
    let (a, b) = (run("the cat sat"), run("the old Cat slept"));
    let same = Comparison::of((&a, &view(0)), (&a, &view(1))).unwrap();
    assert!(same.same_tokens && same.difference.dim() == (5, 5));
    let (first, second) = (a.attention.head(HeadId::new(0, 0)).unwrap(), a.attention.head(HeadId::new(0, 1)).unwrap());
    assert!((same.difference[[1, 1]] - (first[[1, 1]] - second[[1, 1]])).abs() < 1e-6);
    let total = headlight::metrics::jensen_shannon(first, second).unwrap();
    assert!((same.total().unwrap() - total).abs() < 1e-6);

    let other = Comparison::of((&a, &view(0)), (&b, &view(0))).unwrap();
    assert!(!other.same_tokens);
    assert_eq!(other.rows, [(0, 0), (1, 1), (2, 3), (4, 5)], "whatever the case");
    assert_eq!(other.left_out(), (vec![3], vec![2, 4]));
    // Shared words attend alike here, once rows are renormalised.
    assert!(other.divergence[0] < 1e-6 && other.total().unwrap() < 0.01, "{:?}", other.divergence);
    let nothing = Comparison::of((&run("x"), &view(0)), (&run("y"), &view(0))).unwrap();
    assert_eq!(nothing.rows.len(), 2, "markers are shared");
}

#[test]
fn measures_are_defined_where_weights_are_not_finite() {
    for number in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let texts = Arc::new(Texts::single("a b c d"));
        let whole = run_of(&model_info(1, 2), &texts);
        let with = |rows: std::ops::Range<usize>| {
            let mut weights = whole.attention.layer(0).unwrap().as_ref().clone();
            rows.for_each(|row| weights[[0, row, 2]] = number);
            let mut run = whole.clone();
            run.attention = headlight::run::AttentionMaps::from_layers(vec![Arc::new(weights)]).unwrap();
            run
        };
        let (one, all) = (with(3..4), with(0..6));
        let map = |run: &Run, head| run.attention.head(HeadId::new(0, head)).unwrap().to_owned();
        for metric in HeadMetric::ALL {
            // A row that is not finite is left out of the mean, which is over the others.
            let found = metric.of(map(&one, 0).view(), &one.input);
            let five: f32 = (0..6)
                .filter(|row| *row != 3)
                .map(|row| {
                    let mut alone = map(&whole, 0) * 0.0;
                    alone.row_mut(row).assign(&map(&whole, 0).row(row));
                    metric.of(alone.view(), &whole.input) * 6.0 / 5.0
                })
                .sum();
            assert!((found - five).abs() < 1e-5, "{}: {found} {five}", metric.name());
            assert!(metric.of(map(&all, 0).view(), &all.input).is_nan(), "{}: nothing is known", metric.name());
        }
        let distance =
            |a: &Run, b: &Run| headlight::metrics::jensen_shannon(map(a, 0).view(), map(b, 0).view()).unwrap();
        assert!((distance(&one, &whole) - std::f32::consts::LN_2 / 6.0).abs() < 1e-6);
        assert_eq!((distance(&one, &one), distance(&all, &all)), (0.0, 0.0));
        assert!((distance(&whole, &all) - std::f32::consts::LN_2).abs() < 1e-6);

        let view = ViewSpec { head: HeadId::new(0, 0), ..ViewSpec::default() };
        let frame = Frame::of(&one.input, view.reading);
        assert_eq!(upper(&one.attention, &frame, &view, map(&one, 0).view()), whole_upper(&map(&one, 0)));
        for pooled in ["mean:0.0,0.1", "max:0.0,0.1", "max:0.1,0.0"] {
            let view = ViewSpec { pooled: Some(pooled.parse().unwrap()), ..view.clone() };
            let shown = read_view(&one, &frame, &view).unwrap();
            // The greater of −∞ and a number is that number.
            let hidden = number == f32::NEG_INFINITY && pooled.starts_with("max");
            assert_eq!(shown[[3, 2]].is_finite(), hidden, "{pooled} of {number}");
        }
        // What is divided by a sum that is no number is none.
        let reading = Reading { specials: Specials::Renormalise, ..Reading::default() };
        let shown = Frame::of(&one.input, reading).read(one.attention.head(HeadId::new(0, 0)).unwrap()).into_owned();
        assert!(shown.row(2).iter().all(|weight| weight.is_nan()) && shown.row(1).iter().all(|weight| *weight > 0.0));
        let found = Comparison::of((&one, &view), (&whole, &view)).unwrap();
        assert!(found.total().unwrap().is_finite() && found.greatest() == 0.0);
    }
}

fn whole_upper(map: &ndarray::Array2<f32>) -> f32 {
    map.iter().copied().filter(|weight| weight.is_finite()).fold(0.0, f32::max)
}

#[test]
fn heads_that_say_nothing_are_left_out_of_several_and_named() {
    let texts = Arc::new(Texts::single("a b c"));
    let info = model_info(1, 4);
    let pruned = ModelInfo { pruned: [HeadId::new(0, 1)].into(), ..(*info).clone() };
    let mut run = run_of(&Arc::new(pruned), &texts);
    let mut weights = run.attention.layer(0).unwrap().as_ref().clone();
    weights.index_axis_mut(ndarray::Axis(0), 1).fill(0.0);
    run.attention = headlight::run::AttentionMaps::from_layers(vec![Arc::new(weights)]).unwrap();
    run.edits = ["0.2=zero", "0.3=zero", "0.3=mean"].map(|edit| edit.parse().unwrap()).to_vec();
    let head = |head| run.attention.head(HeadId::new(0, head)).unwrap().to_owned();
    let shown = |pooled: &str| {
        let view = ViewSpec { pooled: Some(pooled.parse().unwrap()), ..ViewSpec::default() };
        let frame = Frame::of(&run.input, view.reading);
        let map = read_view(&run, &frame, &view).unwrap().into_owned();
        (map, HeatmapFigure::new(&run, &view).draw().unwrap().as_str().to_owned())
    };
    for (pooled, wanted, name, note) in [
        ("mean:0.0,0.1", head(0), "mean of heads 0.0", Some("left out: 0.1 (pruned)")),
        ("max:0.1,0.0,0.2", head(0), "max of heads 0.0", Some("left out: 0.1 (pruned), 0.2 (off)")),
        // Its mean takes the place of nothing: 0.3 is not off.
        ("mean:0.0,0.3", (head(0) + head(3)) / 2.0, "mean of heads 0.0, 0.3", None),
        (
            "mean:0.1,0.2",
            head(0) * 0.0,
            "mean of heads 0.1, 0.2",
            Some("left out: 0.1 (pruned), 0.2 (off): no head is left"),
        ),
    ] {
        let (map, figure) = shown(pooled);
        assert!((map - wanted).iter().all(|apart| apart.abs() < 1e-6), "{pooled}");
        assert!(figure.contains(&format!("{name}\n")) || figure.contains(&format!("{name}<")), "{pooled}: {name}");
        assert_eq!(note.is_some(), figure.contains("left out"), "{pooled}");
        assert!(note.is_none_or(|note| figure.contains(note)), "{pooled}: {note:?}");
        assert!(!figure.contains("grey rows"), "{pooled}: no row is grey for its edges");
    }
    let view = ViewSpec { head: HeadId::new(0, 1), ..ViewSpec::default() };
    let figure = HeatmapFigure::new(&run, &view).draw().unwrap();
    assert!(figure.as_str().contains("head 0.1 is pruned") && !figure.as_str().contains("edges are cut"));
}
