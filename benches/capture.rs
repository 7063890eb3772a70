//! Wall-clock from text to captured attention, hidden states and embedding, at 16, 128 and 512 tokens.
//!
//! `cargo bench --bench capture` measures Headlight alone. With the path of a Python that has `torch` and
//! `transformers` in `HEADLIGHT_PEER`, `benches/peer.py` does the same work in turn with it, and the ratio is told.

mod support;

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use headlight::model::{Model, find_model};
use headlight::run::Texts;
use support::spread;

/// The first block warms up thread pools and memory on both sides, and does not count.
const BLOCKS: usize = 6;
const ROUNDS: usize = 11;
const SIZES: [usize; 3] = [16, 128, 512];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = find_model(None)?;
    let start = Instant::now();
    let model = Model::open(&folder)?;
    println!("open the model: {:.0} ms", start.elapsed().as_secs_f64() * 1e3);
    let mut peer = std::env::var_os("HEADLIGHT_PEER").map(|python| Peer::start(&python, &folder)).transpose()?;
    for tokens in SIZES {
        // Each of these words is one token; [CLS] and [SEP] make up the rest.
        let words = ["the", "animal", "cross", "street", "because", "it", "was", "too"];
        let text: Vec<&str> = words.into_iter().cycle().take(tokens - 2).collect();
        let texts = Arc::new(Texts::single(text.join(" ")));
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for block in 0..BLOCKS {
            // In blocks, since each side's first pass finds its caches full of the other's data.
            for round in 0..ROUNDS {
                let start = Instant::now();
                let run = model.run(model.tokenize(&texts)?, &mut ())?;
                let elapsed = start.elapsed().as_secs_f64() * 1e3;
                assert_eq!(run.attention.tokens(), tokens);
                ours.extend((block > 0 && round > 0).then_some(elapsed));
            }
            for round in 0..ROUNDS {
                let Some(peer) = &mut peer else { break };
                let elapsed = peer.time(&texts.a)?;
                theirs.extend((block > 0 && round > 0).then_some(elapsed));
            }
        }
        println!("{tokens:>4} tokens: headlight {}", spread(&mut ours));
        if !theirs.is_empty() {
            println!("             transformers {}", spread(&mut theirs));
            println!("             ratio of medians {:.2}", theirs[theirs.len() / 2] / ours[ours.len() / 2]);
        }
    }
    Ok(())
}

/// `transformers` in a process of its own, one text a line.
struct Peer {
    process: Child,
    input: ChildStdin,
    output: BufReader<std::process::ChildStdout>,
}

impl Peer {
    fn start(python: &std::ffi::OsStr, model: &std::path::Path) -> Result<Self, Box<dyn Error>> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peer.py");
        let mut process =
            Command::new(python).arg(script).arg(model).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = process.stdin.take().ok_or("no pipe to the peer")?;
        let output = BufReader::new(process.stdout.take().ok_or("no pipe from the peer")?);
        Ok(Self { process, input, output })
    }

    /// Milliseconds that it took for one text, by its own clock.
    fn time(&mut self, text: &str) -> Result<f64, Box<dyn Error>> {
        writeln!(self.input, "{text}")?;
        let mut answer = String::new();
        self.output.read_line(&mut answer)?;
        Ok(answer.trim().parse()?)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}
