use std::any::Any;
use std::sync::Arc;

use ndarray::Array2;
use serde::{Deserialize, Serialize};
use tch::Tensor;

use crate::engine::{Experiment, Progress};
use crate::metrics::cosine;
use crate::model::{Batch, Boundaries, Model, ModelError, Probe, Site};
use crate::run::{Embedding, Input, Texts};

/// What a head's effect is measured on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// The cosine of a text's vector with its plain one, which is at its maximum of 1 in the plain model.
    #[serde(rename = "self")]
    Own,
    /// The cosine of the two vectors of a pair, each from a forward of its own.
    Similarity,
}

/// The effect of switching each head off by itself, on one text or pair or on many.
#[derive(Debug, Clone, PartialEq)]
pub struct LeaveOneOut {
    /// Single texts for [`Target::Own`], pairs for [`Target::Similarity`].
    pub texts: Arc<Vec<Texts>>,
    pub target: Target,
}

/// Effects of all heads: the target in the plain model less the target without the head. Positive: the head raises
/// the target.
#[derive(Debug, Clone, PartialEq)]
pub struct Importance {
    pub spec: LeaveOneOut,
    /// Mean over the texts, `[layer, head]`.
    pub effect: Array2<f32>,
    /// Half the width of the 95 % interval of that mean (normal approximation), `[layer, head]`; `None` for one text.
    pub interval: Option<Array2<f32>>,
    /// The target in the plain model, mean over the texts.
    pub plain: f32,
}

impl Experiment for LeaveOneOut {
    fn name(&self) -> String {
        format!("leave-one-out on {} texts", self.texts.len())
    }

    fn run(
        &mut self,
        model: &Model,
        progress: &mut dyn FnMut(Progress) -> Result<(), ModelError>,
    ) -> Result<Box<dyn Any + Send>, ModelError> {
        let info = model.info();
        let shape = (info.layers, info.heads);
        let (mut sum, mut squares) = (Array2::<f64>::zeros(shape), Array2::<f64>::zeros(shape));
        let mut plain_sum = 0.0;
        let total = self.texts.len() * info.layers;
        for (number, texts) in self.texts.iter().enumerate() {
            let inputs = inputs(self.target, model, texts)?;
            let mut text_progress = |layer: usize| progress(Progress { done: number * info.layers + layer, total });
            let sides: Vec<Ablated> =
                inputs.into_iter().map(|input| ablate(model, input, &mut text_progress)).collect::<Result<_, _>>()?;
            let plain = value(self.target, sides.iter().map(|side| (&side.plain, &side.plain)));
            plain_sum += f64::from(plain);
            for layer in 0..info.layers {
                for head in 0..info.heads {
                    let without = sides.iter().map(|side| (&side.plain, &side.without[layer][head]));
                    let effect = f64::from(plain) - f64::from(value(self.target, without));
                    sum[[layer, head]] += effect;
                    squares[[layer, head]] += effect * effect;
                }
            }
        }
        let count = self.texts.len().max(1) as f64;
        let effect = sum.mapv(|sum| sum / count);
        let interval = (self.texts.len() > 1).then(|| {
            let variance = (&squares / count - &effect * &effect).mapv(|v| v.max(0.0) * count / (count - 1.0));
            variance.mapv(|variance| (1.959_964 * (variance / count).sqrt()) as f32)
        });
        Ok(Box::new(Importance {
            spec: self.clone(),
            effect: effect.mapv(|effect| effect as f32),
            interval,
            plain: (plain_sum / count) as f32,
        }))
    }
}

/// The texts that go through the model for a target: one, or both halves of a pair.
pub(super) fn inputs(target: Target, model: &Model, texts: &Texts) -> Result<Vec<Input>, ModelError> {
    let one = |text: &str| model.tokenize(&Arc::new(Texts::single(text)));
    match (target, &texts.b) {
        (Target::Own, _) => Ok(vec![model.tokenize(&Arc::new(texts.clone()))?]),
        (Target::Similarity, Some(b)) => Ok(vec![one(&texts.a)?, one(b)?]),
        (Target::Similarity, None) => Err(ModelError::BadInput("similarity needs pairs of texts".into())),
    }
}

/// The target from each side's plain vector and the one to judge.
pub(super) fn value<'a>(target: Target, mut sides: impl Iterator<Item = (&'a Embedding, &'a Embedding)>) -> f32 {
    match (target, sides.next(), sides.next()) {
        (Target::Own, Some((plain, now)), _) => cosine(plain.values.view(), now.values.view()),
        (Target::Similarity, Some((_, a)), Some((_, b))) => cosine(a.values.view(), b.values.view()),
        _ => 0.0,
    }
}

/// One text's vector in the plain model, and without each head.
struct Ablated {
    plain: Embedding,
    /// `[layer][head]`
    without: Vec<Vec<Embedding>>,
}

/// Numbers that one batch of attention scores may have: 64 million take 256 MB.
const MOST_SCORES: usize = 64_000_000;

/// Switches each head off by itself. The layers before it are computed once, and the heads of a layer go through the
/// rest of the model together, one in each row of a batch.
fn ablate(
    model: &Model,
    input: Input,
    progress: &mut dyn FnMut(usize) -> Result<(), ModelError>,
) -> Result<Ablated, ModelError> {
    let (encoder, info) = (model.encoder(), model.info());
    let single = Batch::from_tokens(&[&input.tokens])?;
    let mut boundaries = Boundaries::default();
    let last = encoder.forward(&single, &mut boundaries)?;
    let plain = model.embeddings(&last)?.pop().ok_or(ModelError::Empty)?;
    let n = input.tokens.len();
    let rows = (MOST_SCORES / (info.heads * n * n).max(1)).clamp(1, info.heads);
    let mut without = Vec::with_capacity(info.layers);
    for (layer, entering) in boundaries.0.iter().enumerate() {
        progress(layer)?;
        let mut embeddings = Vec::with_capacity(info.heads);
        for first in (0..info.heads).step_by(rows) {
            let count = rows.min(info.heads - first);
            let batch = Batch::from_tokens(&vec![input.tokens.as_slice(); count])?;
            let hidden = entering.f_repeat([count as i64, 1, 1])?;
            let last = encoder.forward_from(layer, hidden, &batch, &mut OneHeadARow { layer, first })?;
            embeddings.extend(model.embeddings(&last)?);
        }
        without.push(embeddings);
    }
    Ok(Ablated { plain, without })
}

/// In row r of the batch, head `first + r` of one layer hands on nothing.
struct OneHeadARow {
    layer: usize,
    first: usize,
}

impl Probe for OneHeadARow {
    fn visit(&mut self, layer: usize, site: Site, tensor: Tensor) -> Result<Tensor, ModelError> {
        if layer == self.layer && site == Site::Context {
            let (rows, ..) = tensor.size4()?;
            for row in 0..rows {
                let _ = tensor.f_select(0, row)?.f_select(0, row + self.first as i64)?.f_zero_()?;
            }
        }
        Ok(tensor)
    }
}
