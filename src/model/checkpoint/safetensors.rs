//! The header of a safetensors file, checked against the file's length before anything of it is believed.

use std::fs::File;
use std::io::Read;

use ::safetensors::tensor::Metadata;

use super::{Entry, Tensors};

/// The longest header; that of a model of 10,000 tensors has about a megabyte.
const MOST_BYTES: u64 = 100 << 20;

/// Where the tensors of a file lie; an error says what is wrong with it.
pub(super) fn tensors(mut file: &File) -> Result<Tensors, String> {
    let length = file.metadata().map_err(|error| error.to_string())?.len();
    let mut size = [0; 8];
    file.read_exact(&mut size).map_err(|_| "it is shorter than its own header".to_owned())?;
    let size = u64::from_le_bytes(size);
    if size > MOST_BYTES || size > length.saturating_sub(8) {
        return Err(format!("its header would have {size} bytes, and the file has {length}"));
    }
    let mut header = vec![0; size as usize];
    file.read_exact(&mut header).map_err(|error| error.to_string())?;
    // Reading it checks that the tensors lie one behind the other, each as long as its shape asks for.
    let metadata: Metadata = serde_json::from_slice(&header).map_err(|error| format!("its header: {error}"))?;
    let (room, needed) = (length - 8 - size, metadata.data_len() as u64);
    if needed > room {
        return Err(format!("it is cut short: its header speaks of {needed} bytes of numbers, and {room} are there"));
    }
    if needed != room {
        return Err(format!("its header speaks of {needed} bytes of numbers, and {room} are there"));
    }
    let entry = |name: String| {
        let info = metadata.info(&name)?;
        let start = 8 + size + info.data_offsets.0 as u64;
        Some((name, Entry { file: 0, start, dtype: info.dtype, shape: info.shape.clone(), strides: None }))
    };
    Ok(metadata.offset_keys().into_iter().filter_map(entry).collect())
}
