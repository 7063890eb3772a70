//! Edits, checked against a model and a text, as what is to be done in each head.

use std::collections::BTreeMap;
use std::sync::Arc;

use ndarray::{Array1, Array2};

use super::freeze;
use super::held::{Sources, pieces};
use crate::model::{Model, ModelError};
use crate::run::{Edit, HeadId, Input, Intervention, RunError, TokenChoice};

/// What is to be done in each head for one text. Empty for a plain run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    /// Only heads in which something is done.
    heads: BTreeMap<HeadId, HeadPlan>,
    remarks: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct HeadPlan {
    pub weights: Option<WeightsRule>,
    pub cuts: Vec<(TokenChoice, TokenChoice)>,
    pub causal: bool,
    pub context: Option<ContextRule>,
    pub scale: Option<f32>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum WeightsRule {
    Uniform,
    /// `[query, key]`
    Held(Arc<Array2<f32>>),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum ContextRule {
    Zero,
    MeanOfText,
    /// `[head_dim]`, the same for every token.
    Everywhere(Arc<Array1<f32>>),
    /// `[token, head_dim]`
    Held(Arc<Array2<f32>>),
}

impl Plan {
    /// What these edits do to this text.
    ///
    /// # Errors
    /// The first edit that does not apply, with the valid range or both token counts; or what went wrong with its
    /// source.
    pub fn new(model: &Model, input: &Input, edits: &[Edit], sources: &mut Sources) -> Result<Self, ModelError> {
        let mut plan = Self::default();
        for edit in edits {
            plan.add(model, input, edit, sources)?;
        }
        Ok(plan)
    }

    /// As [`new`](Self::new), but an edit that does not apply to this text is left out, and the reason remarked: while
    /// a reader types, an edge of a token that is gone must not take the picture away.
    pub fn of_those_that_apply(model: &Model, input: &Input, edits: &[Edit], sources: &mut Sources) -> Self {
        let mut plan = Self::default();
        for edit in edits {
            let before = plan.clone();
            if let Err(error) = plan.add(model, input, edit, sources) {
                plan = before;
                plan.remarks.push(format!("{edit} is left out: {}", crate::run::one_line(&error)));
            }
        }
        plan
    }

    fn add(&mut self, model: &Model, input: &Input, edit: &Edit, sources: &mut Sources) -> Result<(), ModelError> {
        let info = model.info();
        let tokens = input.tokens.len();
        let mut heads: Vec<HeadId> = edit.heads.among(info.layers, info.heads)?.collect();
        let first = heads.first().copied().unwrap_or_default();
        heads.retain(|head| !info.pruned.contains(head));
        if heads.is_empty() {
            return Err(RunError::PrunedHead(first).into());
        }
        for &head in &heads {
            // Heads outside the plan are those in which nothing is done.
            match &edit.what {
                Intervention::Zero => self.head(head).context = Some(ContextRule::Zero),
                Intervention::Scale(factor) => self.head(head).scale = Some(*factor),
                Intervention::Uniform => self.head(head).weights = Some(WeightsRule::Uniform),
                Intervention::Mean(None) => self.head(head).context = Some(ContextRule::MeanOfText),
                Intervention::Mean(Some(corpus)) => {
                    let mean = sources.mean(model, corpus, head)?;
                    self.head(head).context = Some(ContextRule::Everywhere(Arc::new(mean)));
                }
                Intervention::Freeze(source) => {
                    let held = sources.held(model, source)?;
                    let carried = freeze::carry(held.attention.head(head)?, &held.pieces, &pieces(input));
                    if carried.aligned < 1.0 && heads.first() == Some(&head) {
                        let share = carried.aligned * 100.0;
                        self.remarks.push(format!("{edit}: {share:.0} % of the rows are aligned with the frozen text"));
                    }
                    self.head(head).weights = Some(WeightsRule::Held(Arc::new(carried.weights)));
                }
                Intervention::PatchWeights(source) => {
                    let held = sources.held(model, source)?;
                    check_length(edit, held.pieces.len(), tokens)?;
                    let weights = held.attention.head(head)?.to_owned();
                    self.head(head).weights = Some(WeightsRule::Held(Arc::new(weights)));
                }
                Intervention::PatchContext(source) => {
                    let held = sources.held(model, source)?;
                    check_length(edit, held.pieces.len(), tokens)?;
                    let context = held.context(head).ok_or(ModelError::Empty)?;
                    self.head(head).context = Some(ContextRule::Held(Arc::new(context)));
                }
                Intervention::Cut { query, key } => {
                    for end in [query, key] {
                        if let TokenChoice::One(token) = end
                            && *token >= tokens
                        {
                            return Err(RunError::NoSuchToken { edit: edit.to_string(), token: *token, tokens }.into());
                        }
                    }
                    self.head(head).cuts.push((*query, *key));
                }
                Intervention::Causal => self.head(head).causal = true,
            }
        }
        // A scale of 1 is no change, so that all gates at 1 are the plain run to the bit.
        self.heads.retain(|_, plan| {
            plan.scale = plan.scale.filter(|factor| *factor != 1.0);
            *plan != HeadPlan::default()
        });
        Ok(())
    }

    fn head(&mut self, head: HeadId) -> &mut HeadPlan {
        self.heads.entry(head).or_default()
    }

    /// Nothing is done anywhere.
    pub fn is_plain(&self) -> bool {
        self.heads.is_empty()
    }

    /// What the reader must know: edits that were left out, and how well frozen patterns fit.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// The first layer in which two plans differ; `layers` if they do the same everywhere.
    pub fn first_difference(&self, other: &Self, layers: usize) -> usize {
        (0..layers).find(|&layer| !self.layer(layer).eq(other.layer(layer))).unwrap_or(layers)
    }

    /// The heads of one layer in which something is done.
    pub(super) fn layer(&self, layer: usize) -> impl Iterator<Item = (usize, &HeadPlan)> {
        self.heads.range(HeadId::new(layer, 0)..HeadId::new(layer + 1, 0)).map(|(id, plan)| (id.head, plan))
    }

    /// Whether weights of this layer are other than the model's own.
    pub fn changes_weights(&self, layer: usize) -> bool {
        self.layer(layer).any(|(_, plan)| plan.weights.is_some() || plan.masks())
    }
}

impl HeadPlan {
    /// Some edges get no weight.
    pub fn masks(&self) -> bool {
        self.causal || !self.cuts.is_empty()
    }

    /// Whether an edge is cut.
    pub fn cuts(&self, query: usize, key: usize) -> bool {
        (self.causal && key > query) || self.cuts.iter().any(|(from, to)| from.covers(query) && to.covers(key))
    }
}

fn check_length(edit: &Edit, source: usize, here: usize) -> Result<(), RunError> {
    if source == here {
        return Ok(());
    }
    Err(RunError::OtherLength { edit: edit.to_string(), source_tokens: source, tokens: here })
}
