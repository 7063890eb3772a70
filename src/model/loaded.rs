use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use ndarray::Array1;
use tch::Tensor;

use super::capture::plain;
use super::{Batch, Capture, Encoder, ModelError, Probe, pooling};
use crate::run::{Input, Limit, ModelInfo, Run, Texts};
use crate::text::{TextEncoder, parse_ids};

/// A model as a reader opens it: encoder, tokenizer, and how it makes a sentence's vector.
#[derive(Debug)]
pub struct Model {
    info: Arc<ModelInfo>,
    encoder: Encoder,
    tokenizer: Option<TextEncoder>,
}

impl Model {
    /// Opens a Hugging Face model folder.
    ///
    /// # Errors
    /// [`ModelError`] that names the file at fault. A folder without a tokenizer opens: it takes token numbers.
    pub fn open(folder: &Path) -> Result<Self, ModelError> {
        let encoder = Encoder::load(folder)?;
        let tokenizer = match TextEncoder::from_folder(folder) {
            Ok(tokenizer) => Some(tokenizer),
            Err(crate::text::TextError::NoTokenizer(_)) => None,
            Err(error) => return Err(error.into()),
        };
        let config = encoder.config();
        // A relative path such as `.` has no name of its own.
        let absolute = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let info = Arc::new(ModelInfo {
            name: absolute.file_name().unwrap_or(absolute.as_os_str()).to_string_lossy().into_owned(),
            folder: folder.to_owned(),
            family: config.family.clone(),
            layers: config.layers,
            heads: config.heads,
            hidden: config.hidden,
            head_dim: config.head_dim(),
            positions: config.positions,
            vocabulary: config.vocabulary,
            parameters: encoder.parameters(),
            has_tokenizer: tokenizer.is_some(),
            has_pooler: encoder.has_pooler(),
            pooling: pooling::declared(folder)?,
        });
        Ok(Self { info, encoder, tokenizer })
    }

    pub fn info(&self) -> &Arc<ModelInfo> {
        &self.info
    }

    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// Tokens of a text, cut to what the model has positions for.
    ///
    /// # Errors
    /// [`ModelError::NoTokenizer`], or [`ModelError::Text`] if the tokenizer refuses the text.
    pub fn tokenize(&self, texts: &Arc<Texts>) -> Result<Input, ModelError> {
        self.tokenize_within(texts, usize::MAX)
    }

    /// As [`tokenize`](Self::tokenize), with at most `most` tokens, for want of memory.
    ///
    /// # Errors
    /// As [`tokenize`](Self::tokenize).
    pub fn tokenize_within(&self, texts: &Arc<Texts>, most: usize) -> Result<Input, ModelError> {
        let tokenizer = self.tokenizer.as_ref().ok_or(ModelError::NoTokenizer)?;
        let positions = self.info.positions;
        let (limit, why) = if most < positions { (most, Limit::Memory) } else { (positions, Limit::Positions) };
        Ok(tokenizer.encode(texts, limit, why)?)
    }

    /// An input from token numbers such as `101 7592 102`; a tokenizer is not needed.
    ///
    /// # Errors
    /// [`ModelError::Text`] if they are no numbers or outside the vocabulary.
    pub fn input_from_ids(&self, ids: &str) -> Result<Input, ModelError> {
        Ok(parse_ids(ids, self.info.vocabulary, self.info.positions, self.tokenizer.as_ref())?)
    }

    /// One forward pass with everything captured. `watcher` is a further probe, which may stop the pass.
    ///
    /// # Errors
    /// [`ModelError::Stopped`] if the watcher stopped it; else what went wrong.
    pub fn run(&self, input: Input, watcher: &mut dyn Probe) -> Result<Run, ModelError> {
        let start = Instant::now();
        let tokens = input.tokens.len();
        let batch = Batch::from_tokens(&[&input.tokens])?;
        let mut capture = Capture::default();
        let last = self.encoder.forward(&batch, &mut (watcher, &mut capture))?;
        let pooler_output = self.encoder.pool(&last)?.as_ref().map(vector).transpose()?;
        let hidden = capture.hidden(0, tokens)?;
        let attention = capture.into_single()?;
        let last = hidden.last().ok_or(ModelError::Empty)?;
        let embedding = pooling::embed(last, self.info.pooling);
        let model = self.info.clone();
        Ok(Run { model, input, attention, hidden, pooler_output, embedding, elapsed: start.elapsed() })
    }
}

fn vector(tensor: &Tensor) -> Result<Array1<f32>, ModelError> {
    Ok(Array1::from_vec(plain(tensor)?))
}
