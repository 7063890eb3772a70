use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use tokenizers::models::ModelWrapper;
use tokenizers::utils::truncation::{TruncationParams, truncate_encodings};
use tokenizers::{Encoding, PostProcessor, Tokenizer};

use super::guard::{check_json, guarded};
use super::special::Named;
use super::spelling::Spelling;
use super::unknown::{Letters, cause};
use super::{TextError, byte_level, class, sentence_piece, vocab};
use crate::run::{Input, Limit, Role, Segment, Span, Texts, Token, UnknownCause};

/// Turns text into the tokens of one model.
#[derive(Debug)]
pub struct TextEncoder {
    tokenizer: Tokenizer,
    unknown: Option<u32>,
    mask: Option<(u32, String)>,
    /// What its pieces are written with; found when a text first has an unknown one.
    letters: OnceLock<Letters>,
    spelling: Spelling,
    /// Markers such as `[CLS]`, however they came into the text; not `[MASK]`, which stands for a word.
    markers: HashSet<u32>,
}

impl TextEncoder {
    /// Reads `tokenizer.json`, or `vocab.json` with `merges.txt`, or `sentencepiece.bpe.model`, `spm.model` or
    /// `spiece.model`, or `vocab.txt`, the older ones with `tokenizer_config.json`, `special_tokens_map.json` and
    /// `added_tokens.json`, from a model's folder. Truncation and padding stored there are switched off: a text is never
    /// cut without the reader knowing.
    ///
    /// # Errors
    /// [`TextError`] if neither file is there, or one cannot be read or understood.
    pub fn from_folder(folder: &Path) -> Result<Self, TextError> {
        Self::of_family(folder, None)
    }

    /// As [`from_folder`](Self::from_folder), with the family that the folder is of, which its config need not name.
    ///
    /// # Errors
    /// As [`from_folder`](Self::from_folder).
    pub fn of_family(folder: &Path, family: Option<&str>) -> Result<Self, TextError> {
        let whole = folder.join("tokenizer.json");
        let words = folder.join("vocab.txt");
        let pieces = ["sentencepiece.bpe.model", "spm.model", "spiece.model"].map(|name| folder.join(name));
        let (letters, merges) = (folder.join("vocab.json"), folder.join("merges.txt"));
        let named = Named::read(folder)?;
        let mut tokenizer = if whole.is_file() {
            let bytes = std::fs::read(&whole)
                .map_err(|error| TextError::Unreadable { path: whole.clone(), cause: error.to_string() })?;
            let malformed = |cause| TextError::Malformed { path: whole.clone(), cause };
            let mut tokenizer =
                check_json(&bytes).and_then(|()| guarded(|| Tokenizer::from_bytes(bytes))).map_err(malformed)?;
            if class::is_bert(folder)? {
                vocab::normalize_by_settings(folder, &mut tokenizer)?;
            }
            named.add_to_whole(&mut tokenizer).map_err(malformed)?;
            tokenizer
        } else if letters.is_file() && merges.is_file() {
            byte_level::byte_level(folder, &letters, &merges, &named)?
        } else if let Some(pieces) = pieces.iter().find(|pieces| pieces.is_file()) {
            sentence_piece::sentence_piece(folder, pieces, family, &named)?
        } else if words.is_file() {
            vocab::word_piece(folder, &words, &named)?
        } else {
            return Err(TextError::NoTokenizer(folder.to_owned()));
        };
        tokenizer.with_padding(None);
        tokenizer
            .with_truncation(None)
            .map_err(|error| TextError::Malformed { path: whole, cause: error.to_string() })?;
        let unknown = unknown_token(&tokenizer);
        let mask = mask_token(&tokenizer, &named);
        let markers = tokenizer
            .get_added_tokens_decoder()
            .into_iter()
            .filter(|(id, token)| token.special && Some(*id) != unknown)
            .filter(|(id, _)| mask.as_ref().is_none_or(|(mask, _)| mask != id))
            .filter(|(_, token)| !token.content.to_ascii_lowercase().contains("mask"))
            .map(|(id, _)| id)
            .collect();
        let spelling = Spelling::of(&tokenizer);
        Ok(Self { tokenizer, unknown, mask, letters: OnceLock::new(), spelling, markers })
    }

    /// Tokens of a text or a pair, special tokens included; at most `limit` of them.
    ///
    /// A longer text loses tokens at its end (a pair, those of its longer half), never its special tokens, as
    /// `transformers` does with `truncation=True`; [`Input::full_length`] keeps how many there were.
    ///
    /// # Errors
    /// [`TextError::Encode`] if the tokenizer refuses the text.
    pub fn encode(&self, texts: &Arc<Texts>, limit: usize, why: Limit) -> Result<Input, TextError> {
        let read = Texts { a: beginning(&texts.a), b: texts.b.as_deref().map(beginning) };
        let unread = read != **texts;
        let a = read.a.as_str();
        let whole = guarded(|| match read.b.as_deref() {
            Some(b) => self.tokenizer.encode((a, b), true),
            None => self.tokenizer.encode(a, true),
        })
        .map_err(TextError::Encode)?;
        let full_length = whole.len();
        let (encoding, limit) = if full_length <= limit {
            (whole, None)
        } else {
            (guarded(|| self.encode_cut(&read, limit)).map_err(TextError::Encode)?, Some(why))
        };
        let tokens = guarded(|| Ok(self.tokens(&encoding, &read))).map_err(TextError::Encode)?;
        Ok(Input { texts: texts.clone(), tokens, full_length, limit, unread, masked: Vec::new() })
    }

    fn encode_cut(&self, texts: &Texts, limit: usize) -> tokenizers::Result<Encoding> {
        let first = self.tokenizer.encode(texts.a.as_str(), false)?;
        let second = texts.b.as_deref().map(|text| self.tokenizer.encode(text, false)).transpose()?;
        let added = self.tokenizer.get_post_processor().map_or(0, |post| post.added_tokens(second.is_some()));
        let room = TruncationParams { max_length: limit.saturating_sub(added), ..Default::default() };
        let (first, second) = truncate_encodings(first, second, &room)?;
        self.tokenizer.post_process(first, second, true)
    }

    fn tokens(&self, encoding: &Encoding, texts: &Texts) -> Vec<Token> {
        let sequences = encoding.get_sequence_ids();
        let added = encoding.get_special_tokens_mask();
        let words = encoding.get_word_ids();
        // Words of the second text go on counting where those of the first end.
        let words_in_a = (0..encoding.len())
            .filter(|&i| sequences[i] == Some(0))
            .filter_map(|i| words[i])
            .max()
            .map_or(0, |w| w + 1);
        (0..encoding.len())
            .map(|i| {
                let id = encoding.get_ids()[i];
                // What was matched can carry the blank before it, or be an unknown stretch of text.
                let piece = self.piece(id).unwrap_or_else(|| encoding.get_tokens()[i].clone());
                let special = added[i] == 1 || self.markers.contains(&id);
                // A marker belongs to the text before it; of an empty second text only its kind tells.
                let after_b = sequences[..i].contains(&Some(1));
                let in_b = sequences[i].map_or(encoding.get_type_ids()[i] == 1 || after_b, |sequence| sequence == 1);
                let (start, end) = encoding.get_offsets()[i];
                Token {
                    id,
                    shown: self.spelling.readable(&piece),
                    piece,
                    span: (added[i] == 0).then_some(Span { start, end }),
                    word: words[i]
                        .filter(|_| added[i] == 0)
                        .map(|word| (if in_b { word + words_in_a } else { word }) as usize),
                    segment: if in_b { Segment::B } else { Segment::A },
                    type_id: encoding.get_type_ids()[i],
                    role: if special { Role::Special } else { Role::Word },
                    unknown: (Some(id) == self.unknown).then(|| {
                        let text = if in_b { texts.b.as_deref() } else { Some(texts.a.as_str()) };
                        self.cause(id, text.and_then(|text| text.get(start..end)).unwrap_or_default())
                    }),
                }
            })
            .collect()
    }

    fn cause(&self, unknown: u32, source: &str) -> UnknownCause {
        cause(&self.tokenizer, self.letters.get_or_init(|| Letters::of(&self.tokenizer)), unknown, source)
    }

    /// The vocabulary's spelling of a token.
    pub fn piece(&self, id: u32) -> Option<String> {
        self.tokenizer.id_to_token(id)
    }

    /// A piece as people read it: not `Ġthe` or `▁the`, but `the`.
    pub fn readable(&self, piece: &str) -> String {
        self.spelling.readable(piece).unwrap_or_else(|| piece.to_owned())
    }

    /// How many numbers a model must have vectors for: one more than the largest of the vocabulary and of the markers
    /// that every text gets. Not counted are blank lines, which no text is spelled with, and tokens added behind the
    /// vocabulary, which few texts have.
    pub fn size(&self) -> usize {
        let spelled = self.tokenizer.get_vocab(false).into_iter().filter(|(piece, _)| !piece.is_empty());
        let ends = guarded(|| self.tokenizer.encode(("", ""), true)).map(|ends| ends.get_ids().to_vec());
        let largest = spelled.map(|(_, id)| id).chain(ends.unwrap_or_default()).max();
        largest.map_or(0, |largest| largest as usize + 1)
    }

    /// A piece's number in the vocabulary.
    pub fn id(&self, piece: &str) -> Option<u32> {
        self.tokenizer.token_to_id(piece)
    }

    /// The token that stands for a hidden word, such as `[MASK]`, with its number.
    pub fn mask(&self) -> Option<(u32, String)> {
        self.mask.clone()
    }

    /// Whether a piece is a marker of the model's own, such as `[CLS]`.
    pub fn is_marker_piece(&self, piece: &str) -> bool {
        self.tokenizer.token_to_id(piece).is_some_and(|id| self.markers.contains(&id))
    }

    pub(super) fn is_marker(&self, id: u32) -> bool {
        self.markers.contains(&id)
    }

    pub(super) fn is_unknown(&self, id: u32) -> bool {
        self.unknown == Some(id)
    }
}

/// So much of a text as could ever matter: turning megabytes into tokens takes seconds, and models read thousands.
fn beginning(text: &str) -> String {
    const MOST_BYTES: usize = 1 << 20;
    text[..text.floor_char_boundary(MOST_BYTES.min(text.len()))].to_owned()
}

fn mask_token(tokenizer: &Tokenizer, named: &Named) -> Option<(u32, String)> {
    let said = named.part("mask_token", &[]).map(|token| token.content.as_str());
    let known = ["[MASK]", "<mask>"];
    // Words may hold a piece of such a name that is not the mask.
    let added: HashSet<String> =
        tokenizer.get_added_tokens_decoder().into_values().map(|token| token.content).collect();
    let special = known.into_iter().filter(|piece| added.contains(*piece));
    let mut candidates = said.into_iter().chain(special).chain(known);
    candidates.find_map(|piece| Some((tokenizer.token_to_id(piece)?, piece.to_owned())))
}

fn unknown_token(tokenizer: &Tokenizer) -> Option<u32> {
    let piece = match tokenizer.get_model() {
        ModelWrapper::WordPiece(model) => model.unk_token.clone(),
        ModelWrapper::BPE(model) => model.unk_token.clone()?,
        ModelWrapper::WordLevel(model) => model.unk_token.clone(),
        ModelWrapper::Unigram(_) => {
            return ["<unk>", "[UNK]"].into_iter().find_map(|piece| tokenizer.token_to_id(piece));
        }
    };
    tokenizer.token_to_id(&piece)
}
