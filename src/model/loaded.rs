use std::cell::{Cell, RefCell};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use ndarray::{Array1, Array2, Array3};
use tch::Tensor;

use super::capture::{cube, plain};
use super::find::folder_of;
use super::{Batch, Boundaries, Capture, Encoder, ModelError, Plan, Probe, Sources, Surgery, pooling, tasks};
use crate::run::{
    AttentionMaps, Edit, Embedding, Input, Limit, MaskPiece, ModelInfo, Recipe, Run, Task, TaskOutput, Texts,
};
use crate::text::{TextEncoder, parse_ids};

/// A model as a reader opens it: encoder, tokenizer, and how it makes a sentence's vector.
#[derive(Debug)]
pub struct Model {
    info: Arc<ModelInfo>,
    encoder: Encoder,
    tokenizer: Option<TextEncoder>,
}

impl Model {
    /// Opens a Hugging Face model folder, or a file of weights that lies in one.
    ///
    /// # Errors
    /// [`ModelError`] that names the file at fault. A folder without a tokenizer opens: it takes token numbers.
    pub fn open(folder: &Path) -> Result<Self, ModelError> {
        Self::open_watched(folder, &mut |_, _| Ok(()))
    }

    /// As [`open`](Self::open); `watch` hears how many bytes of the weights have been read, of how many. All of them have
    /// been when the tokenizer's turn comes.
    ///
    /// # Errors
    /// As [`open`](Self::open), and the error of `watch`, which ends the loading.
    pub fn open_watched(
        folder: &Path,
        watch: &mut dyn FnMut(usize, usize) -> Result<(), ModelError>,
    ) -> Result<Self, ModelError> {
        let (place, folder) = (folder, folder_of(folder));
        let (watch, all) = (RefCell::new(watch), Cell::new(1));
        let encoder = Encoder::load_watched(place, &|done, of| {
            all.set(of);
            (watch.borrow_mut())(done, of)
        })?;
        let (watch, all) = (watch.into_inner(), all.get());
        watch(all, all)?;
        let tokenizer = match TextEncoder::from_folder(folder) {
            Ok(tokenizer) => Some(tokenizer),
            Err(crate::text::TextError::NoTokenizer(_)) => None,
            Err(error) => return Err(error.into()),
        };
        let config = encoder.config();
        if let Some(size) = tokenizer.as_ref().map(TextEncoder::size).filter(|size| *size > config.vocabulary) {
            return Err(ModelError::Vocabulary { tokenizer: size, model: config.vocabulary });
        }
        let info = Arc::new(ModelInfo {
            name: name_of(folder),
            folder: place.to_owned(),
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
            prefixes: pooling::prefixes(folder)?,
            pruned: config.pruned.clone(),
            pieces: Arc::new(match &tokenizer {
                Some(tokenizer) if encoder.tasks().any(|info| info.task == Task::MaskedLm) => {
                    let piece = |id| tokenizer.piece(id).map(|piece| tokenizer.readable(&piece)).unwrap_or_default();
                    (0..config.vocabulary as u32).map(piece).collect()
                }
                _ => Vec::new(),
            }),
            report: encoder.report().clone(),
            note: config.note.clone(),
            tasks: encoder.tasks().cloned().collect(),
            mask: tokenizer.as_ref().and_then(TextEncoder::mask).map(|(id, piece)| MaskPiece { id, piece }),
        });
        watch(all, all)?;
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

    /// Puts the model's mask in the place of tokens, counted from 0.
    ///
    /// # Errors
    /// [`ModelError::NoMask`] if the vocabulary has none; [`ModelError::Run`] if a token cannot be masked.
    pub fn mask(&self, input: &mut Input, tokens: &[usize]) -> Result<(), ModelError> {
        for &token in tokens {
            input.mask(token, self.info.mask.as_ref().ok_or(ModelError::NoMask)?)?;
        }
        Ok(())
    }

    /// An input from token numbers such as `101 7592 102`; a tokenizer is not needed.
    ///
    /// # Errors
    /// [`ModelError::Text`] if they are no numbers or outside the vocabulary.
    pub fn input_from_ids(&self, ids: &str) -> Result<Input, ModelError> {
        Ok(parse_ids(ids, self.info.vocabulary, self.info.positions, self.tokenizer.as_ref())?)
    }

    /// A piece's number in the vocabulary.
    pub fn piece_id(&self, piece: &str) -> Option<u32> {
        self.tokenizer.as_ref()?.id(piece)
    }

    /// Whether a piece is a marker of the model's own, such as `[CLS]`.
    pub fn is_marker(&self, piece: &str) -> bool {
        self.tokenizer.as_ref().is_some_and(|tokenizer| tokenizer.is_marker_piece(piece))
    }

    /// One forward pass with everything captured. `watcher` is a further probe, which may stop the pass.
    ///
    /// # Errors
    /// [`ModelError::Stopped`] if the watcher stopped it; else what went wrong.
    pub fn run(&self, input: Input, watcher: &mut dyn Probe) -> Result<Run, ModelError> {
        Ok(self.trace(input, Plan::default(), Vec::new(), None, watcher)?.into_run())
    }

    /// One forward pass with edits on heads.
    ///
    /// # Errors
    /// As [`Plan::new`] and [`run`](Self::run).
    pub fn run_edited(&self, input: Input, edits: &[Edit], watcher: &mut dyn Probe) -> Result<Run, ModelError> {
        let plan = Plan::new(self, &input, edits, &mut Sources::default())?;
        Ok(self.trace(input, plan, edits.to_vec(), None, watcher)?.into_run())
    }

    /// One forward pass as a recipe says.
    ///
    /// # Errors
    /// As [`mask`](Self::mask), [`Plan::new`] and [`run`](Self::run).
    pub fn run_recipe(&self, recipe: &Recipe, sources: &mut Sources) -> Result<Run, ModelError> {
        let mut input = self.tokenize(&recipe.texts)?;
        self.mask(&mut input, &recipe.masked)?;
        let plan = Plan::new(self, &input, &recipe.edits, sources)?;
        Ok(self.trace(input, plan, recipe.edits.clone(), None, &mut ())?.into_run())
    }

    /// What the task heads answer to the last hidden state `[1, token, hidden]` of a text. A masked language model
    /// answers for masked tokens alone: all tokens times the whole vocabulary take longer than the encoder.
    fn outputs(&self, input: &Input, last: &Tensor) -> Result<Vec<TaskOutput>, ModelError> {
        let mut outputs = Vec::new();
        for info in self.encoder.tasks() {
            let tokens = match info.task {
                Task::MaskedLm => self.mask_positions(input),
                _ => (0..input.tokens.len()).collect(),
            };
            outputs.push(self.output(info.task, last, tokens)?);
        }
        Ok(outputs)
    }

    fn output(&self, task: Task, last: &Tensor, tokens: Vec<usize>) -> Result<TaskOutput, ModelError> {
        let logits = self.encoder.answer(task, last, Some(&tokens))?;
        Ok(if logits.dim() == 2 {
            TaskOutput { task, tokens: Vec::new(), logits: tasks::rows(&logits)? }
        } else {
            TaskOutput { task, tokens, logits: tasks::rows(&logits.f_select(0, 0)?)? }
        })
    }

    /// Where a run's text has masks, whether typed or put there.
    fn mask_positions(&self, input: &Input) -> Vec<usize> {
        let Some(mask) = &self.info.mask else { return Vec::new() };
        (0..input.tokens.len()).filter(|&token| input.tokens[token].id == mask.id).collect()
    }

    /// A run's answers for every token, those of a masked language model included.
    ///
    /// # Errors
    /// [`ModelError::Torch`] if memory is short.
    pub fn answer_everywhere(&self, run: &mut Run) -> Result<(), ModelError> {
        let last = run.last_hidden_state().ok_or(ModelError::Empty)?;
        let values: Vec<f32> = last.iter().copied().collect();
        let last = Tensor::f_from_slice(&values)?.f_view([1, last.nrows() as i64, last.ncols() as i64])?;
        let all = (0..run.input.tokens.len()).collect();
        if let Some(output) = run.outputs.iter_mut().find(|output| output.task == Task::MaskedLm) {
            *output = self.output(Task::MaskedLm, &last, all)?;
        }
        Ok(())
    }

    /// The sentence's vector alone, with edits on heads, and nothing else kept. An edit that does not apply to this text
    /// is left out.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn embed(&self, input: Input, edits: &[Edit], sources: &mut Sources) -> Result<Embedding, ModelError> {
        let plan = Plan::of_those_that_apply(self, &input, edits, sources);
        let batch = Batch::from_tokens(&[&input.tokens])?;
        let last = self.encoder.forward(&batch, &mut Surgery::new(&plan, &batch)?)?;
        self.embeddings(&last)?.pop().ok_or(ModelError::Empty)
    }

    /// Each row's vector from the last hidden state `[batch, token, hidden]` of a batch without padding.
    ///
    /// # Errors
    /// [`ModelError::BadInput`] if the shape is another.
    pub fn embeddings(&self, last_hidden_state: &Tensor) -> Result<Vec<Embedding>, ModelError> {
        let (rows, tokens, width) = last_hidden_state.size3()?;
        let shape = (rows as usize, tokens as usize, width as usize);
        let last = cube(plain(last_hidden_state)?, shape)?;
        Ok(last.outer_iter().map(|row| pooling::embed(&row, self.info.pooling)).collect())
    }

    /// A forward pass that carries a plan out, and keeps what a later pass can go on from. With a `base` of the same
    /// tokens, the layers before the first in which the plans differ are taken from it and not computed again.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn trace(
        &self,
        input: Input,
        plan: Plan,
        edits: Vec<Edit>,
        base: Option<&Traced>,
        watcher: &mut dyn Probe,
    ) -> Result<Traced, ModelError> {
        let start = Instant::now();
        let batch = Batch::from_tokens(&[&input.tokens])?;
        let base = base.filter(|base| same_tokens(&base.run.input, &input));
        let from = base.map_or(0, |base| plan.first_difference(&base.plan, self.info.layers));

        let mut boundaries = Boundaries(base.map_or(Vec::new(), |base| base.entering(from)));
        let (mut surgery, mut capture) = (Surgery::new(&plan, &batch)?, Capture::default());
        let entering = match base.and_then(|base| base.boundaries.get(from)) {
            Some(hidden) => hidden.shallow_clone(),
            None => self.encoder.embed(&batch)?,
        };
        let mut probes = (watcher, (&mut boundaries, (&mut surgery, &mut capture)));
        let last = self.encoder.forward_from(from, entering, &batch, &mut probes)?;
        boundaries.0.push(last.shallow_clone());

        let kept = base.map(|base| base.run.as_ref()).filter(|_| from > 0);
        let (weights, context, hidden) = join(kept, from, capture)?;
        let attention = AttentionMaps::from_layers(weights)?;
        let computed = (!plan.is_plain()).then(|| self.computed(&attention, kept, from, &mut surgery)).transpose()?;
        let pooler_output = self.encoder.pool(&last)?.as_ref().map(vector).transpose()?;
        let outputs = self.outputs(&input, &last)?;
        let embedding = pooling::embed(&hidden.last().ok_or(ModelError::Empty)?.view(), self.info.pooling);
        let mut run = Run {
            model: self.info.clone(),
            input,
            attention,
            computed,
            edits,
            remarks: plan.remarks().to_vec(),
            context,
            hidden,
            pooler_output,
            embedding,
            outputs,
            elapsed: start.elapsed(),
        };
        let notice = run.not_finite_notice();
        run.remarks.extend(notice);
        Ok(Traced { run: Arc::new(run), plan, boundaries: boundaries.0 })
    }

    /// The model's own weights: as computed where edits changed them, else the applied ones.
    fn computed(
        &self,
        applied: &AttentionMaps,
        kept: Option<&Run>,
        from: usize,
        surgery: &mut Surgery<'_>,
    ) -> Result<AttentionMaps, ModelError> {
        let shape = (applied.heads(), applied.tokens(), applied.tokens());
        let layers = (0..applied.layers()).map(|layer| {
            let earlier = kept.filter(|_| layer < from).and_then(|run| run.computed.as_ref()?.layer(layer).cloned());
            match (earlier, surgery.take_computed(layer)) {
                (Some(layer), _) => Ok(layer),
                (None, Some(numbers)) => cube(numbers, shape),
                (None, None) => applied.layer(layer).cloned().ok_or(ModelError::Empty),
            }
        });
        Ok(AttentionMaps::from_layers(layers.collect::<Result<_, _>>()?)?)
    }
}

/// A run with what a later one can go on from.
#[derive(Debug)]
pub struct Traced {
    run: Arc<Run>,
    plan: Plan,
    /// The hidden state that enters each layer, then the last one: `[1, token, hidden]`.
    boundaries: Vec<Tensor>,
}

impl Traced {
    pub fn run(&self) -> &Arc<Run> {
        &self.run
    }

    /// The run alone.
    pub fn into_run(self) -> Run {
        Arc::unwrap_or_clone(self.run)
    }

    /// The hidden states that enter the layers before `layer`.
    fn entering(&self, layer: usize) -> Vec<Tensor> {
        self.boundaries.iter().take(layer).map(Tensor::shallow_clone).collect()
    }

    /// How many layers a run of these tokens with this plan could take over.
    pub fn shared_layers(&self, input: &Input, plan: &Plan) -> usize {
        let layers = self.run.attention.layers();
        if same_tokens(&self.run.input, input) { plan.first_difference(&self.plan, layers) } else { 0 }
    }
}

fn same_tokens(a: &Input, b: &Input) -> bool {
    let numbers = |input: &Input| input.tokens.iter().map(|token| (token.id, token.type_id)).collect::<Vec<_>>();
    numbers(a) == numbers(b)
}

type Joined = (Vec<Arc<Array3<f32>>>, Vec<Arc<Array3<f32>>>, Vec<Arc<Array2<f32>>>);

/// Weights, context and hidden states of all layers: those before `from` out of the kept run, the rest captured.
fn join(kept: Option<&Run>, from: usize, capture: Capture) -> Result<Joined, ModelError> {
    let Some(kept) = kept else {
        let parts = capture.into_parts()?;
        return Ok((parts.weights, parts.context, parts.hidden));
    };
    let mut weights: Vec<_> = (0..from).filter_map(|layer| kept.attention.layer(layer).cloned()).collect();
    let mut context = kept.context[..from].to_vec();
    let mut hidden = kept.hidden[..=from].to_vec();
    // Nothing was captured where the plans are the same throughout.
    if from < kept.attention.layers() {
        let parts = capture.into_parts()?;
        weights.extend(parts.weights);
        context.extend(parts.context);
        hidden.extend(parts.hidden.into_iter().skip(1)); // the first is the boundary itself
    }
    Ok((weights, context, hidden))
}

/// A model's name: that of its folder, or in the hub's cache `OWNER/NAME`, where the folder is named for a commit.
fn name_of(folder: &Path) -> String {
    // A relative path such as `.` has no name of its own.
    let absolute = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let snapshot = absolute.parent().filter(|parent| parent.ends_with("snapshots")).and_then(Path::parent);
    let repository = snapshot.and_then(Path::file_name).and_then(|name| name.to_str()?.strip_prefix("models--"));
    match repository {
        Some(name) => name.replacen("--", "/", 1),
        None => absolute.file_name().unwrap_or(absolute.as_os_str()).to_string_lossy().into_owned(),
    }
}

fn vector(tensor: &Tensor) -> Result<Array1<f32>, ModelError> {
    Ok(Array1::from_vec(plain(tensor)?))
}
