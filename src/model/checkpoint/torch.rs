//! Files that `torch.save` wrote: a zip archive with a pickle in it, or, before PyTorch 1.6, pickles one after the other.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};

use ::safetensors::Dtype;
use zip::{CompressionMethod, ZipArchive};

use super::pickle::{Node, Pickle, Storage};
use super::{Entry, Tensors};

/// The longest pickle: it names tensors, and their numbers lie elsewhere.
const MOST_BYTES: u64 = 256 << 20;
/// How files written before PyTorch 1.6 begin.
const MAGIC: &str = "119547037146038801333356";

/// Where the tensors of a file lie; an error says what is wrong with it.
pub(super) fn tensors(mut file: &File) -> Result<Tensors, String> {
    let mut start = [0; 4];
    file.read_exact(&mut start).map_err(|_| "it is too short for a file of weights".to_owned())?;
    file.seek(SeekFrom::Start(0)).map_err(|error| error.to_string())?;
    if start.starts_with(b"PK") { zipped(file) } else { in_a_row(file) }
}

fn zipped(file: &File) -> Result<Tensors, String> {
    let told = |error: zip::result::ZipError| error.to_string();
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(|error| {
        format!("it begins as torch.save writes, and is damaged or cut short: fetch it again ({error})")
    })?;
    let mut places = HashMap::new();
    let mut pickle = None;
    for number in 0..archive.len() {
        // Numbers are never compressed: what is, is something else, such as a bomb.
        let member = archive.by_index(number).map_err(told)?;
        let name = member.name().map_err(told)?.into_owned();
        if member.compression() != CompressionMethod::Stored {
            return Err(format!("its member {name} is compressed, which torch.save never does"));
        }
        let start = member.data_start().ok_or("a member has no place")?;
        if name.ends_with("/data.pkl") || name == "data.pkl" {
            if member.size() > MOST_BYTES {
                return Err(format!("its pickle has {} bytes, more than any that names tensors", member.size()));
            }
            pickle = Some((start, member.size()));
        } else if let Some((_, key)) = name.rsplit_once("data/") {
            places.insert(key.to_owned(), (start, member.size()));
        }
    }
    let (start, size) = pickle.ok_or("it is a zip archive without the data.pkl of torch.save")?;
    let mut reader = file;
    reader.seek(SeekFrom::Start(start)).map_err(|error| error.to_string())?;
    let mut bytes = vec![0; size as usize];
    reader.read_exact(&mut bytes).map_err(|error| error.to_string())?;
    let (pickle, _) = Pickle::read(&bytes)?;
    named(&pickle, |storage| {
        let (start, bytes) = places.get(&storage.key)?;
        Some((*start, bytes / (storage.dtype.bitsize() as u64 / 8)))
    })
}

fn in_a_row(file: &File) -> Result<Tensors, String> {
    // The pickles stand before the numbers. Their end is found by reading them, in a file of any length.
    let length = file.metadata().map_err(|error| error.to_string())?.len();
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    let mut at = 0;
    let mut next = || -> Result<Pickle, String> {
        let (pickle, used) = Pickle::read(bytes.get(at..).unwrap_or_default())?;
        at += used;
        Ok(pickle)
    };
    if next()?.top_as_text().as_deref() != Some(MAGIC) {
        return Err("it is no file that torch.save wrote".into());
    }
    let (_protocol, _system, tensors, keys) = (next()?, next()?, next()?, next()?);
    let keys = keys.top_as_texts().ok_or("it does not list its storages")?;
    let dtypes: HashMap<String, Dtype> =
        tensors.storages().map(|storage| (storage.key.clone(), storage.dtype)).collect();
    let mut places = HashMap::new();
    let mut start = at as u64;
    for key in keys {
        let size = dtypes.get(&key).ok_or_else(|| format!("nothing says of what kind its storage {key} is"))?;
        let mut count = [0; 8];
        let mut reader = file;
        reader.seek(SeekFrom::Start(start)).map_err(|error| error.to_string())?;
        reader.read_exact(&mut count).map_err(|_| "it ends before its numbers do".to_owned())?;
        let count = u64::from_le_bytes(count);
        let bytes = count.checked_mul(size.bitsize() as u64 / 8);
        let end = bytes.and_then(|bytes| (start + 8).checked_add(bytes)).filter(|end| *end <= length);
        places.insert(key, (start + 8, count));
        start = end.ok_or("it ends before its numbers do")?;
    }
    named(&tensors, |storage| places.get(&storage.key).copied())
}

/// The tensors of a dictionary, `place` giving each storage's first byte and how many numbers it has.
fn named(pickle: &Pickle, place: impl Fn(&Storage) -> Option<(u64, u64)>) -> Result<Tensors, String> {
    let mut found = Vec::new();
    for (name, node) in pickle.state()? {
        let Node::Tensor { storage, offset, shape, strides } = node else { continue };
        let storage = pickle.storage(*storage).ok_or_else(|| format!("{name} has no storage"))?;
        let (start, count) = place(storage).ok_or_else(|| format!("the numbers of {name} are missing"))?;
        let entry = Entry {
            file: 0,
            start: 0,
            dtype: storage.dtype,
            shape: shape.clone(),
            strides: (*strides != row_major(shape)).then(|| strides.clone()),
        };
        // In one step, so that no product of sizes can overflow: the last number must lie within the storage.
        let reach = shape.iter().zip(strides).try_fold(0u64, |reach, (size, stride)| {
            (size.saturating_sub(1) as u64).checked_mul(*stride as u64)?.checked_add(reach)
        });
        let elements = shape.iter().try_fold(1usize, |all, size| all.checked_mul(*size));
        let fits = reach.and_then(|reach| reach.checked_add(*offset as u64)).is_some_and(|last| last < count);
        let empty = shape.contains(&0);
        // A number may be repeated, but not so often that it would fill the memory.
        if !empty && (!fits || elements.is_none_or(|elements| elements as u64 > count)) {
            return Err(format!("{name} reaches beyond its {count} numbers"));
        }
        let start = start + *offset as u64 * (storage.dtype.bitsize() as u64 / 8);
        found.push((name, Entry { start, ..entry }));
    }
    if found.is_empty() {
        return Err("it holds no named tensors".into());
    }
    Ok(found)
}

fn row_major(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1usize; shape.len()];
    for at in (0..shape.len().saturating_sub(1)).rev() {
        strides[at] = strides[at + 1].saturating_mul(shape[at + 1]);
    }
    strides
}
