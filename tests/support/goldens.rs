//! What the references of `tests/golden/` were made of.

use headlight::model::Model;
use headlight::run::Input;
use safetensors::SafeTensors;

/// Whole numbers of a reference.
pub fn numbers(reference: &SafeTensors<'_>, name: &str) -> Vec<u32> {
    let data = reference.tensor(name).unwrap().data();
    data.chunks_exact(8).map(|eight| i64::from_le_bytes(eight.try_into().unwrap()) as u32).collect()
}

/// Tokens by number, with the type of each.
pub fn input(model: &Model, ids: &[u32], types: &[u32]) -> Input {
    let words: Vec<String> = ids.iter().map(u32::to_string).collect();
    let mut input = model.input_from_ids(&words.join(" ")).unwrap();
    for (token, kind) in input.tokens.iter_mut().zip(types) {
        token.type_id = *kind;
    }
    input
}

/// A reference's input.
pub fn reference_input(model: &Model, reference: &SafeTensors<'_>) -> Input {
    input(model, &numbers(reference, "input_ids"), &numbers(reference, "token_type_ids"))
}
