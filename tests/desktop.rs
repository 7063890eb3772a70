//! The real program in a real window, typed into with a real keyboard. Slow, so in a binary of its own.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

#[path = "support/desktop.rs"]
mod desktop;
mod support;

use headlight::figure::{Ground, Palette, Pixels};
use headlight::model::Model;
use headlight::run::{ColorMap, HeadId};
use support::{on_ci, single};

const TEXT: &str = "the cat sat on the mat.";

type Cell = [u8; 3];

/// The colours of the large heatmap on the screen, cell by cell, if one of so many tokens is there.
fn cells_on_screen(screen: &Pixels, palette: &Palette, tokens: usize) -> Option<Vec<Cell>> {
    let color = |x: usize, y: usize| {
        let start = (y * screen.width + x) * 4;
        [screen.rgba[start], screen.rgba[start + 1], screen.rgba[start + 2]]
    };
    let of_map = |rgb: Cell| palette.steps().iter().any(|step| near(*step, rgb, 1));
    // The plot is the largest patch of the palette's colours: grow patches from a coarse net of points.
    let mut seen = vec![false; screen.width * screen.height];
    let mut largest: Option<(usize, [usize; 4])> = None;
    for start in (0..screen.height).step_by(8).flat_map(|y| (0..screen.width).step_by(8).map(move |x| (x, y))) {
        let mut waiting = vec![start];
        let (mut count, mut bounds) = (0, [usize::MAX, usize::MAX, 0, 0]);
        while let Some((x, y)) = waiting.pop() {
            if seen[y * screen.width + x] || !of_map(color(x, y)) {
                continue;
            }
            seen[y * screen.width + x] = true;
            count += 1;
            bounds = [bounds[0].min(x), bounds[1].min(y), bounds[2].max(x + 1), bounds[3].max(y + 1)];
            let around = [(x.wrapping_sub(1), y), (x + 1, y), (x, y.wrapping_sub(1)), (x, y + 1)];
            waiting.extend(around.into_iter().filter(|&(x, y)| x < screen.width && y < screen.height));
        }
        if largest.is_none_or(|(most, _)| count > most) && count > 0 {
            largest = Some((count, bounds));
        }
    }
    let (count, [left, top, right, bottom]) = largest?;
    let (width, height) = (right - left, bottom - top);
    if width < 300 || height < 300 || count < width * height * 9 / 10 {
        return None;
    }
    let middle = |start: usize, side: usize, cell: usize| start + (2 * cell + 1) * side / (2 * tokens);
    let places = (0..tokens).flat_map(|query| (0..tokens).map(move |key| (query, key)));
    Some(places.map(|(query, key)| color(middle(left, width, key), middle(top, height, query))).collect())
}

fn near(a: Cell, b: Cell, most: u8) -> bool {
    a.iter().zip(b).all(|(a, b)| a.abs_diff(b) <= most)
}

/// The colours that the cells must have.
fn expected(text: &str, head: HeadId) -> (usize, Vec<Cell>) {
    let model = Model::open(&support::tiny_model()).unwrap();
    let run = model.run(model.tokenize(&single(text)).unwrap(), &mut ()).unwrap();
    let palette = Palette::on(ColorMap::YlGnBu, Ground::Dark);
    let upper = run.attention.head(head).unwrap().iter().copied().fold(0.0, f32::max);
    let map = run.attention.head(head).unwrap();
    (map.nrows(), map.iter().map(|weight| palette.at(weight / upper)).collect())
}

#[test]
fn a_sentence_that_is_typed_shows_its_heatmap_on_the_screen() {
    let model = support::tiny_model();
    // Dark, so that the window's own colours are none of the colour map's.
    let arguments = ["--model", model.to_str().unwrap(), "--theme", "dark"];
    let Some((desktop, program)) = desktop::with_program((1280, 760), &arguments) else { return };
    let palette = Palette::on(ColorMap::YlGnBu, Ground::Dark);
    // Away from the map: a cross-hair would cover cells.
    desktop.xdotool(&["mousemove", "640", "738"]);
    // The empty text's picture, [CLS] and [SEP], is there first.
    let (tokens, wanted) = expected("", HeadId::default());
    await_cells(&desktop, &palette, tokens, &wanted, "the empty text");

    desktop.click(700, 16);
    desktop.type_text(&program, TEXT);
    desktop.xdotool(&["mousemove", "640", "738"]);
    let (tokens, wanted) = expected(TEXT, HeadId::default());
    assert_eq!(tokens, 9);
    await_cells(&desktop, &palette, tokens, &wanted, TEXT);
    println!("from start to window: {} ms", program.opened_after.as_millis());
    assert_eq!(program.close(), "", "the program complained");
}

fn await_cells(desktop: &desktop::Desktop, palette: &Palette, tokens: usize, wanted: &[Cell], what: &str) {
    let seen = desktop.wait_for(|screen| {
        let cells = cells_on_screen(screen, palette, tokens)?;
        let same = cells.iter().zip(wanted).all(|(a, b)| near(*a, *b, 2));
        same.then_some(())
    });
    if let Err(last) = seen {
        let file = std::env::temp_dir().join("headlight-last-look.png");
        desktop::save(last, &file);
        panic!("the heatmap of {what:?} never came; the last look is {}", file.display());
    }
}

/// What the pruning curve of the documentation is drawn on.
const SENTENCES: [&str; 12] = [
    "The animal didn't cross the street because it was too tired.",
    "A man is eating food.",
    "Somebody eats a meal.",
    "The keys to the cabinet are on the table.",
    "No one has ever seen a colour like that.",
    "She handed the book to her brother before he left.",
    "The weather was so bad that the ferry stayed in port.",
    "Prices rose sharply in the third quarter.",
    "The trophy does not fit in the suitcase because it is too big.",
    "A child is playing the violin in the park.",
    "The committee has not decided whether to vote today.",
    "Water boils at a lower temperature on a mountain.",
];

/// Where the map of that sentence has the row “it” and the column “animal” in a window of 1280 × 760.
const CELL: (u32, u32) = (731, 398);

/// Draws `screenshots/`: run by `cargo xtask screenshots`, which says where to.
#[test]
#[ignore = "draws the documentation's pictures"]
fn screenshots() {
    let folder = std::path::PathBuf::from(std::env::var_os("HEADLIGHT_SCREENSHOTS").expect("HEADLIGHT_SCREENSHOTS"));
    let model = support::default_model().expect("the default model");
    let model = model.to_str().unwrap();
    let sentence = "The animal didn't cross the street because it was too tired.";
    let open = |arguments: &[&str]| {
        let arguments = [&["--model", model], arguments].concat();
        let desktop = desktop::Desktop::start(1280, 760).unwrap();
        let program = desktop.open(&arguments).unwrap();
        (desktop, program)
    };
    let settle = |desktop: &desktop::Desktop, name: &str| desktop.photograph(&folder.join(name));
    let rest = || std::thread::sleep(std::time::Duration::from_millis(900));
    // What is found in the palette by its name is done.
    let command = |desktop: &desktop::Desktop, name: &str| {
        desktop.xdotool(&["key", "ctrl+k"]);
        rest();
        desktop.xdotool(&["type", name]);
        rest();
        desktop.xdotool(&["key", "Return"]);
        rest();
    };
    let away = |desktop: &desktop::Desktop| {
        desktop.xdotool(&["mousemove", "640", "738"]);
        rest();
    };
    let cell = |desktop: &desktop::Desktop| desktop.click(CELL.0, CELL.1); // it → animal
    for theme in ["light", "dark"] {
        let (desktop, _program) = open(&["--text", sentence, "--theme", theme]);
        desktop.photograph(&folder.join("waiting.png")); // until the first picture stands still
        command(&desktop, "3.1"); // the head that links “it” to what it stands for
        desktop.click(CELL.0 - 95, CELL.1); // the label of “it” is pinned
        for view in ["Lines", "Text"] {
            command(&desktop, &format!("show {view}"));
            away(&desktop);
            settle(&desktop, &format!("{}-{theme}.png", view.to_lowercase()));
        }
        command(&desktop, "show Map");
        cell(&desktop);
        rest();
        desktop.xdotool(&["mousemove_relative", "3", "2"]);
        rest(); // the tooltip takes its time
        settle(&desktop, &format!("window-{theme}.png"));
        command(&desktop, "show Inside");
        away(&desktop);
        settle(&desktop, &format!("inside-{theme}.png"));
        desktop.xdotool(&["key", "c"]);
        command(&desktop, "2.8");
        std::thread::sleep(std::time::Duration::from_secs(5)); // messages go by
        away(&desktop);
        settle(&desktop, &format!("compare-{theme}.png"));
    }
    {
        // Two heads switched off: what the output and the other heads do.
        let pair = ["--text", "A man is eating food.", "--text-b", "Somebody eats a meal.", "--theme", "light"];
        let (desktop, _program) = open(&pair);
        desktop.photograph(&folder.join("waiting.png"));
        command(&desktop, "0.1");
        desktop.xdotool(&["key", "space"]);
        command(&desktop, "2.1");
        desktop.xdotool(&["key", "space"]);
        away(&desktop);
        settle(&desktop, "window-surgery.png");
    }
    let (desktop, _program) =
        open(&["--text", "A man is eating food.", "--text-b", "Somebody eats a meal.", "--theme", "light"]);
    away(&desktop);
    settle(&desktop, "window-pair.png");
    std::fs::remove_file(folder.join("waiting.png")).ok();
    {
        // The pruning curve of a file of texts.
        let texts = std::env::temp_dir().join("sentences.txt");
        std::fs::write(&texts, SENTENCES.join("\n")).unwrap();
        let (desktop, program) = open(&["--text", sentence, "--theme", "light"]);
        desktop.photograph(&folder.join("waiting.png"));
        command(&desktop, "experiments");
        desktop.click(782, 160); // Texts
        desktop.type_text(&program, texts.to_str().unwrap());
        desktop.click(832, 257); // Pruning curve
        std::thread::sleep(std::time::Duration::from_secs(30));
        away(&desktop);
        settle(&desktop, "window-experiments.png");
        std::fs::remove_file(&texts).ok();
        std::fs::remove_file(folder.join("waiting.png")).ok();
    }
    let figure = folder.join("heatmap.png");
    let drawn = std::process::Command::new(env!("CARGO_BIN_EXE_headlight"))
        .args(["heatmap", "--model", model, "--text", sentence, "--head", "3.1", "--dpi", "120", "--out"])
        .arg(figure)
        .status();
    assert!(drawn.unwrap().success());
    let texts = folder.join("texts.txt");
    std::fs::write(&texts, SENTENCES.join("\n")).unwrap();
    let swept = std::process::Command::new(env!("CARGO_BIN_EXE_headlight"))
        .args(["sweep", "--model", model, "--texts"])
        .arg(&texts)
        .arg("--out")
        .arg(folder.join("sweep.png"))
        .status();
    assert!(swept.unwrap().success());
    std::fs::remove_file(&texts).ok();
    assert!(!on_ci(), "pictures are made by hand, and looked at");
}
