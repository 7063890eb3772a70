//! Figures: every label has a shape, the cells have the right colours in the right places.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

mod support;

use headlight::figure::{Ground, HeatmapFigure, NOT_FINITE, NOTHING, Palette, Tint};
use headlight::run::{ColorMap, ColorScale, Crop, HeadId, MapRange, Run, Texts, TokenRange, ViewSpec};
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

/// Where the cells are in a drawn figure, in its units: x, y, width, height.
fn plot_of(svg: &str) -> [f32; 4] {
    let image = svg.rsplit("<image ").next().unwrap();
    ["x", "y", "width", "height"].map(|name| {
        let value = image.split_once(&format!("{name}=\"")).unwrap().1;
        value.split('"').next().unwrap().parse().unwrap()
    })
}

#[test]
fn every_cell_of_a_long_text_has_a_pixel_at_any_size() {
    // One bright cell a head, among 702 × 702 faint ones.
    let cells = [(0, 0), (701, 701), (0, 701), (350, 351), (17, 603), (699, 1)];
    let texts = Arc::new(Texts::single("w ".repeat(700)));
    let run = run_with(&model_info(1, cells.len()), &texts, |_, head, query, key| {
        if query == cells[head].0 { f32::from(key == cells[head].1) } else { 1.0 }
    });
    let bright = Palette::new(ColorMap::YlGnBu).at(1.0);
    let options = usvg::Options::default();
    for (head, (query, key)) in cells.into_iter().enumerate() {
        let view = ViewSpec { head: HeadId::new(0, head), ..ViewSpec::default() };
        let svg = HeatmapFigure::new(&run, &view).draw().unwrap();
        let [x, y, width, height] = plot_of(svg.as_str());
        let check = |rgba: &[u8], across: usize, scale: f32| {
            let places = rgba.chunks(4).enumerate().filter(|(_, pixel)| pixel[..3] == bright);
            let places = places.map(|(at, _)| ((at % across) as f32 / scale, (at / across) as f32 / scale));
            let found: Vec<_> = places.filter(|(at, _)| *at < x + width).collect();
            assert!(!found.is_empty(), "{query} → {key} is not seen at {scale}");
            let wanted = (x + width * (key as f32 + 0.5) / 702.0, y + height * (query as f32 + 0.5) / 702.0);
            let near = |(a, b): &(f32, f32)| (a - wanted.0).abs() < 2.5 / scale && (b - wanted.1).abs() < 2.5 / scale;
            assert!(found.iter().all(near), "{query} → {key} at {scale}: {found:?}, not {wanted:?}");
        };
        for scale in [0.2, 0.37, 1.0, 1.61] {
            let pixels = svg.to_pixels(scale).unwrap();
            check(&pixels.rgba, pixels.width, scale);
        }
        // The document itself, at the size that it names.
        let tree = usvg::Tree::from_str(svg.as_str(), &options).unwrap();
        let mut drawn = resvg::tiny_skia::Pixmap::new(1000, 800).unwrap();
        resvg::render(&tree, resvg::tiny_skia::Transform::identity(), &mut drawn.as_mut());
        check(drawn.data(), 1000, 1.0);
    }
}

#[test]
fn by_row_and_by_percentile_faint_weights_take_strong_colours_and_the_figure_says_so() {
    // Four even rows, 0.2 each, and one whose whole weight is on one key.
    let texts = Arc::new(Texts::single("a b c"));
    let run =
        run_with(&model_info(1, 1), &texts, |_, _, query, key| if query == 3 { f32::from(key == 1) } else { 1.0 });
    let palette = Palette::new(ColorMap::YlGnBu);
    for (scale, even, note, bar, mark) in [
        (ColorScale::ByRow, 1.0, "colours by row: each row divided by its greatest weight", "(by row)", "100%"),
        (ColorScale::Percentile, 20.0 / 21.0, "colours by percentile: by rank", "(percentile)", "1.0"),
        (ColorScale::Sqrt, 0.2f32.sqrt(), "square root colours", "(square root)", "0.2"),
    ] {
        let view = ViewSpec { scale, ..ViewSpec::default() };
        let svg = HeatmapFigure::new(&run, &view).draw().unwrap();
        for text in [note, bar, mark] {
            assert!(svg.as_str().contains(text), "{scale:?}: {text}");
        }
        let [x, y, width, height] = plot_of(svg.as_str());
        let pixels = svg.to_pixels(1.0).unwrap();
        let at = |row: f32, column: f32| {
            let (x, y) = ((x + width * (column + 0.5) / 5.0) as usize, (y + height * (row + 0.5) / 5.0) as usize);
            let start = (y * pixels.width + x) * 4;
            [pixels.rgba[start], pixels.rgba[start + 1], pixels.rgba[start + 2]]
        };
        assert_eq!(at(0.0, 2.0), palette.at(even), "{scale:?}");
        assert_eq!((at(3.0, 1.0), at(3.0, 0.0)), (palette.at(1.0), palette.at(0.0)), "{scale:?}");
        // A part has the colours of the whole.
        let range = |start, end| TokenRange { start, end };
        let crop = Some(Crop { queries: range(2, 4), keys: range(0, 2) });
        let part = HeatmapFigure::new(&run, &ViewSpec { crop, ..view }).draw().unwrap();
        let [x, y, width, height] = plot_of(part.as_str());
        let pixels = part.to_pixels(1.0).unwrap();
        let at = |row: f32| {
            let start = ((y + height * (row + 0.5) / 2.0) as usize * pixels.width + (x + width / 4.0) as usize) * 4;
            [pixels.rgba[start], pixels.rgba[start + 1], pixels.rgba[start + 2]]
        };
        assert_eq!((at(0.0), at(1.0)), (palette.at(even), palette.at(0.0)), "{scale:?}");
    }
}

#[test]
fn on_a_dark_ground_nothing_is_dark_and_more_is_lighter() {
    let light = |rgb: &[u8; 3]| {
        let linear = rgb.map(|channel| (f32::from(channel) / 255.0).powf(2.2));
        116.0 * (0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]).cbrt() - 16.0
    };
    let rises = |steps: &[[u8; 3]]| steps.windows(2).all(|pair| light(&pair[1]) > light(&pair[0]) - 0.4);
    let far = |rgb: &[u8; 3]| rgb.iter().zip(NOT_FINITE).any(|(a, b)| a.abs_diff(b) > 60);
    let near = |rgb: &[u8; 3], other: [u8; 3]| rgb.iter().zip(other).all(|(a, b)| a.abs_diff(b) < 8);
    for map in ColorMap::ALL {
        let tint = Tint::new(map, 1.0, ColorScale::Linear).on(Ground::Dark);
        let steps = tint.steps();
        assert!(steps[0].iter().all(|channel| *channel < 50), "{map}: {:?}", steps[0]);
        assert!(rises(steps) && light(&steps[255]) > 80.0, "{map}: {steps:?}");
        assert!(steps.iter().all(far), "{map} comes near to what is not finite");
        assert!(map == ColorMap::Greys || !steps.iter().any(|step| near(step, NOTHING)), "{map}");
        assert_eq!(tint.on(Ground::Light), Tint::new(map, 1.0, ColorScale::Linear));
    }
    let signed = Tint::signed(1.0, ColorScale::Linear).on(Ground::Dark);
    let steps = signed.steps();
    let below: Vec<[u8; 3]> = steps[..128].iter().rev().copied().collect();
    assert!(rises(&steps[128..]) && rises(&below), "{steps:?}");
    assert!(steps.iter().all(far) && light(&signed.at(0, 0.0)) < 20.0);
    assert!(signed.at(0, -0.5)[2] > signed.at(0, -0.5)[0] && signed.at(0, 0.5)[0] > signed.at(0, 0.5)[2]);
}
