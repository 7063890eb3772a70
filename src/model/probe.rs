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

    fn visit(&mut self, layer: usize, site: Site, tensor: Tensor) -> Result<Tensor, ModelError> {
        (**self).visit(layer, site, tensor)
    }

    fn watches(&self) -> bool {
        (**self).watches()
    }
}
