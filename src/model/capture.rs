use ndarray::Array2;
use tch::Tensor;

use super::{ModelError, Probe, Site};
use crate::run::{AttentionMaps, RunError};

/// Keeps every head's attention weights and every layer's hidden state as plain arrays.
#[derive(Debug, Default)]
pub struct Capture {
    layers: usize,
    rows: usize,
    heads: usize,
    padded: usize,
    width: usize,
    /// `[layer, batch, head, query, key]`; room for more may follow what is filled.
    weights: Vec<f32>,
    filled: usize,
    /// `[layer + 1]` of `[batch, token, hidden]`: what enters layer 0, then what leaves each layer.
    hidden: Vec<Vec<f32>>,
}

impl Probe for Capture {
    fn enter(&mut self, layer: usize, hidden: &Tensor) -> Result<(), ModelError> {
        if layer == 0 {
            let (_, _, width) = hidden.size3()?;
            self.width = width as usize;
            self.hidden.push(plain(hidden)?);
        }
        Ok(())
    }

    fn visit(&mut self, layer: usize, site: Site, tensor: Tensor) -> Result<Tensor, ModelError> {
        match site {
            Site::Weights => {
                let (rows, heads, queries, _) = tensor.size4()?;
                (self.rows, self.heads, self.padded) = (rows as usize, heads as usize, queries as usize);
                let end = self.filled + tensor.numel();
                if self.weights.len() < end {
                    self.weights.resize(end, 0.0);
                }
                copy(&tensor, &mut self.weights[self.filled..end])?;
                (self.filled, self.layers) = (end, layer + 1);
            }
            Site::Hidden => self.hidden.push(plain(&tensor)?),
            Site::Scores | Site::Context => {}
        }
        Ok(tensor)
    }
}

impl Capture {
    /// Sets memory aside for a whole pass, so that the weights are not moved while they come.
    pub fn with_room_for(layers: usize, rows: usize, heads: usize, tokens: usize) -> Self {
        // Zeroed memory fresh from the system is not touched until the weights come.
        let weights = vec![0.0; layers * rows * heads * tokens * tokens];
        ask_for_large_pages(&weights);
        Self { weights, ..Self::default() }
    }

    /// The attention maps of one row of the batch, cut to its own length of `tokens`.
    ///
    /// # Errors
    /// [`ModelError::Run`] if the pass had no such row or no so many tokens.
    pub fn maps(&self, row: usize, tokens: usize) -> Result<AttentionMaps, ModelError> {
        let n = self.padded;
        if row >= self.rows || tokens > n {
            let (layers, heads) = (self.layers, self.heads);
            return Err(RunError::BadMapSize { layers, heads, tokens, found: self.weights.len() }.into());
        }
        let mut kept = Vec::with_capacity(self.layers * self.heads * tokens * tokens);
        for layer in 0..self.layers {
            for head in 0..self.heads {
                let map = ((layer * self.rows + row) * self.heads + head) * n * n;
                for query in 0..tokens {
                    let start = map + query * n;
                    kept.extend_from_slice(&self.weights[start..start + tokens]);
                }
            }
        }
        Ok(AttentionMaps::from_vec(self.layers, self.heads, tokens, kept)?)
    }

    /// The hidden states of one row of the batch, `[layers + 1]` of `[token, hidden]`, cut to its own length.
    ///
    /// # Errors
    /// [`ModelError::BadInput`] if the pass had no such row or no so many tokens.
    pub fn hidden(&self, row: usize, tokens: usize) -> Result<Vec<Array2<f32>>, ModelError> {
        let cut = |layer: &Vec<f32>| {
            let start = row * self.padded * self.width;
            let values = layer.get(start..start + tokens * self.width)?.to_vec();
            Array2::from_shape_vec((tokens, self.width), values).ok()
        };
        let states: Option<Vec<_>> = self.hidden.iter().map(cut).collect();
        states.ok_or_else(|| ModelError::BadInput(format!("no row {row} with {tokens} tokens was captured")))
    }

    /// The maps of a batch of one without padding, without copying them once more.
    ///
    /// # Errors
    /// [`ModelError::Run`] if the batch had more than one row.
    pub fn into_single(mut self) -> Result<AttentionMaps, ModelError> {
        self.weights.truncate(self.filled);
        Ok(AttentionMaps::from_vec(self.layers, self.heads, self.padded, self.weights)?)
    }
}

/// Asks Linux to back the buffer with large pages. Maps of 512 tokens fill some 20,000 small ones, and being given
/// those one by one took a quarter of the whole forward pass.
fn ask_for_large_pages(buffer: &[f32]) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        let start = (buffer.as_ptr() as usize).next_multiple_of(PAGE);
        let end = (buffer.as_ptr() as usize + size_of_val(buffer)) / PAGE * PAGE;
        if end > start {
            // SAFETY: the range lies within the buffer, and this advice changes neither its contents nor its access.
            // A kernel that does not know it says so, and nothing is lost.
            unsafe { rustix::mm::madvise(start as *mut _, end - start, rustix::mm::Advice::LinuxHugepage) }.ok();
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = buffer;
}

/// A tensor's numbers in row-major order.
pub(super) fn plain(tensor: &Tensor) -> Result<Vec<f32>, ModelError> {
    let mut values = vec![0.0; tensor.numel()];
    copy(tensor, &mut values)?;
    Ok(values)
}

fn copy(tensor: &Tensor, values: &mut [f32]) -> Result<(), ModelError> {
    let count = values.len();
    Ok(tensor.f_contiguous()?.f_copy_data(values, count)?)
}
