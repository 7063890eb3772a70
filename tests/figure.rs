//! Figures: every label has a shape, the cells have the right colours in the right places.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

mod support;

use headlight::figure::{HeatmapFigure, Palette};
use headlight::run::{ColorMap, Crop, HeadId, MapRange, Run, Texts, TokenRange, ViewSpec};
use resvg::usvg;
use std::sync::Arc;
use support::runs::{model_info, run_of, run_with};

const TEXT: &str = "plain <tag> & \"quote\" Ünïcödé 你好 日本語 한국어 שלום العربية 👩\u{200d}👧 \u{0}\u{1} 𝔘";

fn run() -> Run {
    run_of(&model_info(2, 3), &Arc::new(Texts::single(TEXT)))
}

fn draw(run: &Run, view: &ViewSpec) -> String {
    HeatmapFigure::new(run, view).draw().unwrap().as_str().to_owned()
}

fn texts(group: &usvg::Group, found: &mut Vec<(String, usvg::Rect)>) {
    for node in group.children() {
        match node {
            usvg::Node::Group(group) => texts(group, found),
            usvg::Node::Text(text) => {
                let words = text.chunks().iter().map(usvg::TextChunk::text).collect::<String>();
                found.push((words, text.abs_bounding_box()));
            }
            _ => {}
        }
    }
}

#[test]
fn every_label_has_a_box_of_its_own_inside_the_figure() {
    let mut options = usvg::Options::default();
    options.fontdb_mut().load_system_fonts();
    options.fontdb_mut().set_sans_serif_family("DejaVu Sans");
    let drawn = draw(&run(), &ViewSpec::default());
    let tree = usvg::Tree::from_str(&drawn, &options).unwrap();
    let mut found = Vec::new();
    texts(tree.root(), &mut found);
    // Each token twice, the title, the note, three axis titles, and ticks.
    let tokens = run().input.tokens.len();
    assert!(found.len() >= 2 * tokens + 5 + 3, "{} texts", found.len());
    for (text, rect) in &found {
        assert!(rect.width() > 0.5 && rect.height() > 0.5, "{text:?} has no shape: {rect:?}");
        let inside = rect.left() >= 0.0 && rect.top() >= 0.0 && rect.right() <= 1000.0 && rect.bottom() <= 800.0;
        assert!(inside, "{text:?} leaves the figure: {rect:?}");
    }
    let mut labels: Vec<_> = found.iter().filter(|(text, _)| text.trim() == "plain").collect();
    labels.sort_by(|a, b| a.1.left().total_cmp(&b.1.left()));
    assert_eq!(labels.len(), 2, "once as a query, once as a key");
    assert!(labels[0].1.bottom() < labels[1].1.top(), "the query stands left of the cells, the key below them");
}

#[test]
fn labels_never_overlap_whatever_their_number() {
    let mut options = usvg::Options::default();
    options.fontdb_mut().load_system_fonts();
    options.fontdb_mut().set_sans_serif_family("DejaVu Sans");
    for count in [1, 5, 40, 130, 510] {
        let text = (0..count).map(|i| format!("w{i}")).collect::<Vec<_>>().join(" ");
        let run = run_of(&model_info(1, 1), &Arc::new(Texts::single(text)));
        let drawn = draw(&run, &ViewSpec::default());
        let tree = usvg::Tree::from_str(&drawn, &options).unwrap();
        let mut found = Vec::new();
        texts(tree.root(), &mut found);
        for (at, (a, a_box)) in found.iter().enumerate() {
            for (b, b_box) in &found[at + 1..] {
                // Half a unit of grace for rounding of positions.
                let apart = a_box.right() <= b_box.left() + 0.5
                    || b_box.right() <= a_box.left() + 0.5
                    || a_box.bottom() <= b_box.top() + 1.5
                    || b_box.bottom() <= a_box.top() + 1.5;
                assert!(apart, "{count} words: {a:?} {a_box:?} and {b:?} {b_box:?} overlap");
            }
        }
    }
}

#[test]
fn cells_have_the_colour_of_their_weight_at_their_place() {
    // Only “c” attends, and only to “a”: the other rows are even.
    let texts = Arc::new(Texts::single("a b c"));
    let run =
        run_with(&model_info(1, 1), &texts, |_, _, query, key| if query == 3 { f32::from(key == 1) } else { 1.0 });
    let view = ViewSpec { range: MapRange::Unit, ..ViewSpec::default() };
    let pixels = HeatmapFigure::new(&run, &view).draw().unwrap().to_pixels(1.0).unwrap();
    let palette = Palette::new(ColorMap::YlGnBu);
    let at = |x: usize, y: usize| {
        let start = (y * pixels.width + x) * 4;
        [pixels.rgba[start], pixels.rgba[start + 1], pixels.rgba[start + 2]]
    };
    let of = |color: [u8; 3]| -> Vec<(usize, usize)> {
        let places = (0..pixels.height).flat_map(|y| (0..pixels.width).map(move |x| (x, y)));
        places.filter(|&(x, y)| at(x, y) == color && x < 880).collect() // the colour bar begins after that
    };
    let (bright, even) = (of(palette.at(1.0)), of(palette.at(0.2)));
    let bounds = |places: &[(usize, usize)]| {
        let (xs, ys) = (places.iter().map(|p| p.0), places.iter().map(|p| p.1));
        (xs.clone().min().unwrap(), xs.max().unwrap() + 1, ys.clone().min().unwrap(), ys.max().unwrap() + 1)
    };
    let (left, right, top, bottom) = bounds(&even);
    let cell = ((right - left) as f32 / 5.0, (bottom - top) as f32 / 5.0);
    let (x0, x1, y0, y1) = bounds(&bright);
    let near = |found: usize, wanted: f32| (found as f32 - wanted).abs() <= 1.5;
    assert!(near(x0, left as f32 + cell.0) && near(x1, left as f32 + 2.0 * cell.0), "key “a” is the second column");
    assert!(near(y0, top as f32 + 3.0 * cell.1) && near(y1, top as f32 + 4.0 * cell.1), "query “c” is the fourth row");
}

#[test]
fn a_part_of_the_map_is_drawn_with_its_own_labels() {
    let run = run_of(&model_info(1, 1), &Arc::new(Texts::single("aa bb cc dd")));
    let range = |start, end| TokenRange { start, end };
    let part = |queries, keys| ViewSpec { crop: Some(Crop { queries, keys }), ..ViewSpec::default() };
    let drawn = draw(&run, &part(range(1, 3), range(3, 4)));
    let labels = |word: &str| drawn.lines().filter(|line| line.trim() == word).count();
    assert_eq!(["[CLS]", "aa", "bb", "cc", "dd"].map(labels), [0, 1, 1, 1, 0]);
    assert!(drawn.contains("queries 1..3 and keys 3..4 of 6 tokens"));
    for wrong in [range(3, 3), range(4, 2), range(0, 7)] {
        let error = HeatmapFigure::new(&run, &part(wrong, range(0, 1))).draw().unwrap_err().to_string();
        assert_eq!(error, format!("there are no tokens {wrong}: this picture has 0..6"));
    }
}

#[test]
fn a_head_that_is_not_there_is_refused() {
    let view = ViewSpec { head: HeadId::new(2, 0), ..ViewSpec::default() };
    let error = HeatmapFigure::new(&run(), &view).draw().unwrap_err().to_string();
    assert!(error.contains("layers 0 to 1 and heads 0 to 2"), "{error}");
}

#[test]
fn what_is_not_finite_has_its_colour_a_legend_and_one_notice() {
    let magenta = |pixels: &headlight::figure::Pixels| {
        pixels.rgba.chunks(4).filter(|rgba| rgba[..3] == headlight::figure::NOT_FINITE).count()
    };
    let texts = Arc::new(Texts::single("one two three"));
    let whole = run_of(&model_info(2, 3), &texts);
    let plain = HeatmapFigure::new(&whole, &ViewSpec::default()).draw().unwrap();
    assert!(!plain.as_str().contains("NaN") && magenta(&plain.to_pixels(1.0).unwrap()) == 0);
    for number in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut run = run_of(&model_info(2, 3), &texts);
        let mut layers: Vec<_> = (0..2).map(|layer| run.attention.layer(layer).unwrap().as_ref().clone()).collect();
        layers[1][[2, 1, 3]] = number;
        let layers = layers.into_iter().map(Arc::new).collect();
        run.attention = headlight::run::AttentionMaps::from_layers(layers).unwrap();
        let view = ViewSpec { head: HeadId::new(1, 2), ..ViewSpec::default() };
        let svg = HeatmapFigure::new(&run, &view).draw().unwrap();
        assert!(svg.as_str().contains("NaN, ±∞"), "the legend");
        assert!(svg.as_str().contains("first appear in layer 1, head 2: its attention weights"), "the notice");
        // The plot is about 750 units wide and has 25 cells.
        let found = magenta(&svg.to_pixels(1.0).unwrap());
        assert!(found > 10_000, "{number}: {found} pixels");
        let run = Arc::new(run);
        let other = ViewSpec { head: HeadId::new(1, 1), ..ViewSpec::default() };
        let compared = headlight::figure::ComparisonFigure { a: (run.clone(), view), b: (run, other) };
        let svg = compared.draw().unwrap();
        assert!(magenta(&svg.to_pixels(1.0).unwrap()) > 4_000 && svg.as_str().matches("NaN, ±∞").count() == 3);
    }
}
