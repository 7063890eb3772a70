//! Text to tokens: one or two sentences become the numbers a model reads, each token with the stretch of text that
//! it came from.

mod byte_level;
mod class;
mod error;
mod guard;
mod ids;
mod piece_file;
mod sentence_piece;
mod special;
mod spelling;
mod tokenizer;
mod unknown;
mod vocab;

pub use error::TextError;
pub use ids::parse_ids;
pub use tokenizer::TextEncoder;

/// The files of a model's folder that can hold its tokenizer.
pub const TOKENIZER_FILES: [&str; 10] = [
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "sentencepiece.bpe.model",
    "spm.model",
    "spiece.model",
];
