//! Text to tokens: one or two sentences become the numbers a model reads, each token with the stretch of text that
//! it came from.

mod byte_level;
mod error;
mod ids;
mod sentence_piece;
mod spelling;
mod tokenizer;
mod vocab;

pub use error::TextError;
pub use ids::parse_ids;
pub use tokenizer::TextEncoder;
