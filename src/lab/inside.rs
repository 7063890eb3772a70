use std::any::Any;

use tch::{Kind, Tensor};

use crate::engine::{Experiment, Progress};
use crate::model::{Batch, Model, ModelError, Plan, Probe, Projections, Site, Sources, Surgery, plain};
use crate::run::{HeadId, Recipe, RunError, Scale};

/// How one weight of a map comes to be: that of a head between two tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct Inside {
    pub recipe: Recipe,
    pub head: HeadId,
    /// Places of the two tokens.
    pub query: usize,
    pub key: usize,
}

/// Every number on the way to a weight, and what the weight does.
#[derive(Debug, Clone, PartialEq)]
pub struct CellOrigin {
    pub spec: Inside,
    /// q and k, `[head_dim]`, and the value of the key's token.
    pub query: Vec<f32>,
    pub key: Vec<f32>,
    pub value: Vec<f32>,
    /// q · kⱼ for every key.
    pub products: Vec<f32>,
    /// What enters the softmax, for every key: q · kⱼ / √d and what the family adds for places; −∞ where an edge is cut.
    pub scores: Vec<f32>,
    /// The weights of the row as they were applied.
    pub weights: Vec<f32>,
    /// ‖αⱼ vⱼ W_O‖ for every key: how much each adds to the output (Kobayashi et al. 2020, without the value's bias apart).
    pub added: Vec<f32>,
    /// ‖Σⱼ αⱼ vⱼ W_O‖: the length of what the head adds for this query.
    pub total: f32,
}

impl CellOrigin {
    /// √d.
    pub fn divisor(&self) -> f32 {
        (self.query.len() as f32).sqrt()
    }

    /// q · k by dimension.
    pub fn by_dimension(&self) -> Vec<f32> {
        self.query.iter().zip(&self.key).map(|(q, k)| q * k).collect()
    }

    /// What the family adds to q · kⱼ / √d, such as for how far apart the tokens are; 0 in BERT.
    pub fn beside(&self, key: usize) -> f32 {
        self.scores[key] - self.products[key] / self.divisor()
    }

    /// What the row becomes without the division by √d.
    pub fn undivided(&self) -> Vec<f32> {
        let scores: Vec<f32> = (0..self.scores.len()).map(|key| self.products[key] + self.beside(key)).collect();
        // A row whose edges are all cut attends to nothing.
        let nothing = scores.iter().all(|score| *score == f32::NEG_INFINITY);
        if nothing { vec![0.0; scores.len()] } else { Scale::Softmax.apply(&scores) }
    }
}

/// Keeps what is needed of one layer.
struct Watch {
    spec: Inside,
    place: i64,
    /// `[token, head_dim]`
    projections: Option<[Tensor; 3]>,
    scores: Vec<f32>,
    weights: Vec<f32>,
}

impl Probe for Watch {
    fn project(&mut self, layer: usize, made: &Projections<'_>) -> Result<(), ModelError> {
        if layer != self.spec.head.layer {
            return Ok(());
        }
        self.place = made.place(self.spec.head.head).ok_or(RunError::PrunedHead(self.spec.head))?;
        let own = |x: &Tensor| x.f_select(0, 0)?.f_select(0, self.place)?.f_contiguous();
        self.projections = Some([own(made.query)?, own(made.key)?, own(made.value)?]);
        Ok(())
    }

    fn visit(&mut self, layer: usize, site: Site, tensor: Tensor) -> Result<Tensor, ModelError> {
        if layer == self.spec.head.layer && matches!(site, Site::Scores | Site::Weights) {
            let row = tensor.f_select(0, 0)?.f_select(0, self.spec.head.head as i64)?;
            let row = plain(&row.f_select(0, self.spec.query as i64)?)?;
            if site == Site::Scores {
                self.scores = row;
            } else {
                self.weights = row;
                // The rest of the pass changes nothing of this.
                return Err(ModelError::Stopped);
            }
        }
        Ok(tensor)
    }
}

impl Experiment for Inside {
    fn name(&self) -> String {
        format!("a look inside head {}", self.head)
    }

    fn run(
        &mut self,
        model: &Model,
        progress: &mut dyn FnMut(Progress) -> Result<(), ModelError>,
    ) -> Result<Box<dyn Any + Send>, ModelError> {
        let info = model.info();
        self.head.within(info.layers, info.heads)?;
        let mut input = model.tokenize(&self.recipe.texts)?;
        model.mask(&mut input, &self.recipe.masked)?;
        let tokens = input.tokens.len();
        if self.query >= tokens || self.key >= tokens {
            return Err(ModelError::BadInput(format!("this text has tokens 0 to {}", tokens.saturating_sub(1))));
        }
        let mut sources = Sources::kept();
        sources.prepare(model, &self.recipe.edits, &mut |done, total| progress(Progress::new(done, total)))?;
        let plan = Plan::of_those_that_apply(model, &input, &self.recipe.edits, &mut sources);
        let batch = Batch::from_tokens(&[&input.tokens])?;
        let watch = Watch { spec: self.clone(), place: 0, projections: None, scores: Vec::new(), weights: Vec::new() };
        // What the edits have done is what is watched.
        let mut probes = (Surgery::new(&plan, &batch)?, watch);
        match model.encoder().forward(&batch, &mut probes) {
            Ok(_) | Err(ModelError::Stopped) => {}
            Err(error) => return Err(error),
        }
        Ok(Box::new(probes.1.origin(model)?))
    }
}

impl Watch {
    fn origin(self, model: &Model) -> Result<CellOrigin, ModelError> {
        let [query, key, value] = self.projections.ok_or(ModelError::Empty)?;
        let row = |x: &Tensor, at: usize| plain(&x.f_select(0, at as i64)?);
        let own = query.f_select(0, self.spec.query as i64)?;
        let products = plain(&key.f_mv(&own)?)?;
        // [token, hidden]: each key's value as it reaches the output, times its weight.
        let output = model.encoder().head_output(self.spec.head.layer, self.place)?;
        let weights = Tensor::f_from_slice(&self.weights)?.f_view([-1, 1])?;
        let reached = value.f_matmul(&output.f_transpose(0, 1)?)?.f_mul(&weights)?;
        let lengths =
            |x: &Tensor| plain(&x.f_square()?.f_sum_dim_intlist([-1i64].as_slice(), false, Kind::Float)?.f_sqrt()?);
        let sum = reached.f_sum_dim_intlist([0i64].as_slice(), true, Kind::Float)?;
        Ok(CellOrigin {
            query: row(&query, self.spec.query)?,
            key: row(&key, self.spec.key)?,
            value: row(&value, self.spec.key)?,
            products,
            scores: self.scores,
            weights: self.weights,
            added: lengths(&reached)?,
            total: lengths(&sum)?.first().copied().unwrap_or(0.0),
            spec: self.spec,
        })
    }
}
