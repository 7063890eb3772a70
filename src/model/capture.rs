use std::sync::Arc;

use ndarray::{Array2, Array3};
use tch::{Device, Kind, Tensor};

use super::{ModelError, Probe, Site};
use crate::run::AttentionMaps;

/// Keeps every head's attention weights and every layer's hidden state as plain arrays.
#[derive(Debug, Default)]
pub struct Capture {
    rows: usize,
    heads: usize,
    padded: usize,
    width: usize,
    /// One a layer: `[batch, head, query, key]`.
    weights: Vec<Vec<f32>>,
    /// One a layer: `[batch, head, token, head_dim]`.
    context: Vec<Vec<f32>>,
    /// `[layer + 1]` of `[batch, token, hidden]`: what enters the first layer, then what leaves each layer.
    hidden: Vec<Vec<f32>>,
}

impl Probe for Capture {
    fn enter(&mut self, _layer: usize, hidden: &Tensor) -> Result<(), ModelError> {
        if self.hidden.is_empty() {
            let (rows, padded, width) = hidden.size3()?;
            (self.rows, self.padded, self.width) = (rows as usize, padded as usize, width as usize);
            self.hidden.push(plain(hidden)?);
        }
        Ok(())
    }

    fn visit(&mut self, _layer: usize, site: Site, tensor: Tensor) -> Result<Tensor, ModelError> {
        match site {
            Site::Weights => {
                self.heads = tensor.size4()?.1 as usize;
                self.weights.push(plain(&tensor)?);
            }
            Site::Context => self.context.push(plain(&tensor)?),
            Site::Hidden => self.hidden.push(plain(&tensor)?),
            Site::Scores => {}
        }
        Ok(tensor)
    }
}

impl Capture {
    /// The attention maps of one row of the batch, one `[head, query, key]` a layer, cut to its own length of `tokens`.
    ///
    /// # Errors
    /// [`ModelError::BadInput`] if the pass had no such row or no so many tokens.
    pub fn maps(&self, row: usize, tokens: usize) -> Result<AttentionMaps, ModelError> {
        let n = self.padded;
        self.check(row, tokens)?;
        let cut = |layer: &Vec<f32>| {
            let mut kept = Vec::with_capacity(self.heads * tokens * tokens);
            for head in 0..self.heads {
                let map = (row * self.heads + head) * n * n;
                for query in 0..tokens {
                    let start = map + query * n;
                    kept.extend_from_slice(&layer[start..start + tokens]);
                }
            }
            cube(kept, (self.heads, tokens, tokens))
        };
        let layers = self.weights.iter().map(cut).collect::<Result<_, _>>()?;
        Ok(AttentionMaps::from_layers(layers)?)
    }

    /// The maps of a batch of one, without copying them once more.
    ///
    /// # Errors
    /// [`ModelError::BadInput`] if the batch had more than one row.
    pub fn into_single(self) -> Result<AttentionMaps, ModelError> {
        Ok(AttentionMaps::from_layers(self.into_parts()?.weights)?)
    }

    /// Everything of a batch of one, layer by layer, without copying it once more.
    pub(super) fn into_parts(mut self) -> Result<Parts, ModelError> {
        if self.rows != 1 {
            return Err(ModelError::BadInput(format!("a batch of {} rows is no single text", self.rows)));
        }
        let hidden = self.hidden(0, self.padded)?;
        let (weights, context) = (std::mem::take(&mut self.weights), std::mem::take(&mut self.context));
        let (n, head_dim) = (self.padded, self.width / self.heads.max(1));
        let cube = |layer: Vec<f32>, last: usize| cube(layer, (self.heads, n, last));
        Ok(Parts {
            weights: weights.into_iter().map(|layer| cube(layer, n)).collect::<Result<_, _>>()?,
            context: context.into_iter().map(|layer| cube(layer, head_dim)).collect::<Result<_, _>>()?,
            hidden,
        })
    }

    fn check(&self, row: usize, tokens: usize) -> Result<(), ModelError> {
        let there = row < self.rows && tokens <= self.padded;
        let missing = || ModelError::BadInput(format!("no row {row} with {tokens} tokens was captured"));
        there.then_some(()).ok_or_else(missing)
    }

    /// The hidden states of one row of the batch, each `[token, hidden]`, cut to its own length: what entered the
    /// first layer of the pass, then what left each.
    ///
    /// # Errors
    /// [`ModelError::BadInput`] if the pass had no such row or no so many tokens.
    pub fn hidden(&self, row: usize, tokens: usize) -> Result<Vec<Arc<Array2<f32>>>, ModelError> {
        self.check(row, tokens)?;
        let cut = |layer: &Vec<f32>| {
            let start = row * self.padded * self.width;
            let values = layer[start..start + tokens * self.width].to_vec();
            let array = Array2::from_shape_vec((tokens, self.width), values);
            array.map(Arc::new).map_err(|error| ModelError::BadInput(error.to_string()))
        };
        self.hidden.iter().map(cut).collect()
    }
}

/// What was captured of one text.
pub(super) struct Parts {
    /// One a layer: `[head, query, key]`.
    pub weights: Vec<Arc<Array3<f32>>>,
    /// One a layer: `[head, token, head_dim]`.
    pub context: Vec<Arc<Array3<f32>>>,
    /// What entered the first layer of the pass, then what left each: `[token, hidden]`.
    pub hidden: Vec<Arc<Array2<f32>>>,
}

/// Numbers in row-major order as a shared array.
pub(super) fn cube(values: Vec<f32>, shape: (usize, usize, usize)) -> Result<Arc<Array3<f32>>, ModelError> {
    let array = Array3::from_shape_vec(shape, values);
    array.map(Arc::new).map_err(|error| ModelError::BadInput(error.to_string()))
}

/// A tensor's numbers in row-major order.
pub(crate) fn plain(tensor: &Tensor) -> Result<Vec<f32>, ModelError> {
    let tensor = tensor.f_to_kind(Kind::Float)?.f_to_device(Device::Cpu)?.f_contiguous()?;
    let count = tensor.numel();
    let mut values = Vec::with_capacity(count);
    ask_for_large_pages(&values);
    // SAFETY: the tensor is contiguous, on the CPU and of f32, so that so many numbers lie from its data pointer on;
    // it outlives the slice, and nothing writes to it meanwhile. Copying into zeroed memory with `f_copy_data` writes
    // everything twice, which for maps of 512 tokens took a tenth of the whole pass.
    values.extend_from_slice(unsafe { std::slice::from_raw_parts(tensor.data_ptr().cast::<f32>(), count) });
    Ok(values)
}

/// Asks Linux to back a buffer that is still to be filled with large pages. Maps of 512 tokens fill some 20,000 small
/// ones, and being given those one by one took a quarter of the whole pass.
fn ask_for_large_pages(buffer: &Vec<f32>) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        let start = (buffer.as_ptr() as usize).next_multiple_of(PAGE);
        let end = (buffer.as_ptr() as usize + buffer.capacity() * size_of::<f32>()) / PAGE * PAGE;
        // Below this no large page fits in.
        if end > start + (4 << 20) {
            // SAFETY: the range lies within the buffer, and this advice changes neither its contents nor its access.
            // A kernel that does not know it says so, and nothing is lost.
            unsafe { rustix::mm::madvise(start as *mut _, end - start, rustix::mm::Advice::LinuxHugepage) }.ok();
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = buffer;
}
