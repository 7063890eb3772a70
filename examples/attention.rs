//! Which token does each head attend to most, from one query?
//!
//! ```text
//! cargo run --release --example attention -- "The animal didn't cross the street because it was too tired." it
//! ```

use std::error::Error;
use std::sync::Arc;

use headlight::model::{Model, find_model};
use headlight::run::{HeadId, Texts};

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let text = words.next().unwrap_or("The animal didn't cross the street because it was too tired.".into());
    let query_piece = words.next().unwrap_or("it".into());

    // The default model, which `cargo xtask setup` fetches; `find_model(Some(path))` opens any other.
    let model = Model::open(&find_model(None)?)?;
    let input = model.tokenize(&Arc::new(Texts::single(text)))?;
    let run = model.run(input, &mut ())?;

    let tokens = &run.input.tokens;
    let query = tokens.iter().position(|token| token.piece == query_piece).ok_or("that piece is not in the text")?;
    for head in HeadId::all(run.attention.layers(), run.attention.heads()) {
        let map = run.attention.head(head)?; // [query, key]; each row sums to 1
        let row = map.row(query);
        let (key, weight) = row.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).ok_or("no token")?;
        println!("{head:>5}  {query_piece} → {:<12} {weight:.3}", tokens[key].piece);
    }
    Ok(())
}
