use tch::Tensor;

use super::ModelError;

/// Where in the forward pass of one layer a probe is called, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Site {
    /// `[batch, heads, query, key]`: scaled and masked, before the softmax.
    Scores,
    /// `[batch, heads, query, key]`: after the softmax; rows sum to 1, padding columns are 0. No dropout.
    Weights,
    /// `[batch, heads, query, head_dim]`: weights · V, before the output projection W_O.
    Context,
    /// `[batch, query, hidden]`: the layer's output.
    Hidden,
}

/// Queries, keys and values of one layer: `[batch, heads, token, head_dim]` each, without the heads that were pruned.
///
/// A family that turns queries and keys by their places (ModernBERT) does so when it makes scores of them.
#[derive(Debug, Clone, Copy)]
pub struct Projections<'a> {
    pub query: &'a Tensor,
    pub key: &'a Tensor,
    pub value: &'a Tensor,
    /// The numbers of the heads that are left, `[left]`; `None` where none was pruned.
    pub left: Option<&'a Tensor>,
}

impl Projections<'_> {
    /// Where a head stands among those that are left; `None` if it was pruned.
    pub fn place(&self, head: usize) -> Option<i64> {
        let Some(left) = self.left else { return Some(head as i64) };
        let numbers = Vec::<i64>::try_from(left).ok()?;
        numbers.iter().position(|number| *number == head as i64).map(|place| place as i64)
    }
}

/// Watches a forward pass and may change it: capture is a probe, each intervention is a probe.
///
/// What [`visit`](Self::visit) returns is what the pass goes on with, and must have the shape it was given.
pub trait Probe {
    /// Called before each layer, counted from 0, with the hidden state that enters it, `[batch, token, hidden]`.
    ///
    /// # Errors
    /// [`ModelError::Stopped`] ends the pass between two layers.
    fn enter(&mut self, _layer: usize, _hidden: &Tensor) -> Result<(), ModelError> {
        Ok(())
    }

    /// Called in each layer before its scores are made, with what the heads make of what enters the layer.
    ///
    /// # Errors
    /// As [`visit`](Self::visit).
    fn project(&mut self, _layer: usize, _made: &Projections<'_>) -> Result<(), ModelError> {
        Ok(())
    }

    /// Called at each site of each layer. The tensor may be a buffer that the next layer writes over: copy what is
    /// to be kept.
    ///
    /// # Errors
    /// Any error ends the pass and is handed to its caller.
    fn visit(&mut self, _layer: usize, _site: Site, tensor: Tensor) -> Result<Tensor, ModelError> {
        Ok(tensor)
    }

    /// Whether it needs to be shown anything: a layer with pruned heads makes tensors of all heads for those that do.
    fn watches(&self) -> bool {
        true
    }
}

/// Keeps the hidden state that enters each layer, `[batch, token, hidden]`: a later pass can go on from there.
#[derive(Debug, Default)]
pub struct Boundaries(pub Vec<Tensor>);

impl Probe for Boundaries {
    fn enter(&mut self, _layer: usize, hidden: &Tensor) -> Result<(), ModelError> {
        self.0.push(hidden.shallow_clone());
        Ok(())
    }
}

/// Watches nothing.
impl Probe for () {
    fn watches(&self) -> bool {
        false
    }
}

/// Two probes in turn: the second sees what the first returned.
impl<A: Probe, B: Probe> Probe for (A, B) {
    fn enter(&mut self, layer: usize, hidden: &Tensor) -> Result<(), ModelError> {
        self.0.enter(layer, hidden)?;
        self.1.enter(layer, hidden)
    }

    fn project(&mut self, layer: usize, made: &Projections<'_>) -> Result<(), ModelError> {
        self.0.project(layer, made)?;
        self.1.project(layer, made)
    }

    fn visit(&mut self, layer: usize, site: Site, tensor: Tensor) -> Result<Tensor, ModelError> {
        let tensor = self.0.visit(layer, site, tensor)?;
        self.1.visit(layer, site, tensor)
    }

    fn watches(&self) -> bool {
        self.0.watches() || self.1.watches()
    }
}

impl<P: Probe + ?Sized> Probe for &mut P {
    fn enter(&mut self, layer: usize, hidden: &Tensor) -> Result<(), ModelError> {
        (**self).enter(layer, hidden)
    }

    fn project(&mut self, layer: usize, made: &Projections<'_>) -> Result<(), ModelError> {
        (**self).project(layer, made)
    }

    fn visit(&mut self, layer: usize, site: Site, tensor: Tensor) -> Result<Tensor, ModelError> {
        (**self).visit(layer, site, tensor)
    }

    fn watches(&self) -> bool {
        (**self).watches()
    }
}
