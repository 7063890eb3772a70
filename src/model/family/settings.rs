//! Every field of `config.json` that today's and yesterday's `transformers` know of each family, and what it is to this
//! program: no field that changes a forward pass is passed over. `tests/settings.rs` walks the tables.

use serde_json::Value;

use crate::model::config::{Config, Stored};

/// A field of `config.json`, and what becomes of it.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    pub field: &'static str,
    pub rule: SettingRule,
}

/// What becomes of a field of `config.json`.
#[derive(Debug, Clone, Copy)]
pub enum SettingRule {
    /// Another value gives other numbers, as in `transformers`, or other weights.
    Followed,
    /// It says what this field says, and is followed as that one.
    SameAs(&'static str),
    /// The model is refused, unless this is the value, in JSON.
    Only(&'static str),
    /// The model is refused, unless the field says again what others say already.
    Again(fn(&Config) -> usize),
    /// It changes nothing that this program computes.
    NoEffect,
    /// It changes nothing either, but whoever reads the numbers wants to know of it.
    Told(&'static str),
}

use SettingRule::{Again, Followed, NoEffect, Only, SameAs, Told};

type Table = &'static [(SettingRule, &'static [&'static str])];

/// What every family has.
const ALL: Table = &[
    (
        Followed,
        &[
            "model_type",
            "architectures",
            "id2label",
            "problem_type",
            "tie_word_embeddings",
            "pruned_heads",
            "headlight_note",
        ],
    ),
    (Only("false"), &["is_decoder", "add_cross_attention", "is_encoder_decoder"]),
    (Only("null"), &["quantization_config"]),
    (Told("names code of its own, which is not run: the numbers are those of the family"), &["auto_map"]),
    // Of the weights' kind: numbers are widened to f32 and computed in it.
    (NoEffect, &["dtype", "torch_dtype", "use_bfloat16", "torchscript", "tf_legacy_loss"]),
    // The classifier's weights have as many rows.
    (NoEffect, &["num_labels", "label2id", "_num_labels", "finetuning_task", "task_specific_params"]),
    // Of training.
    (
        NoEffect,
        &[
            "initializer_range",
            "hidden_dropout_prob",
            "attention_probs_dropout_prob",
            "classifier_dropout",
            "gradient_checkpointing",
            "layerdrop",
            "tie_encoder_decoder",
        ],
    ),
    // How the same numbers are come by, and what else is given back.
    (
        NoEffect,
        &[
            "attn_implementation",
            "_attn_implementation",
            "_attn_implementation_autoset",
            "_attn_implementation_internal",
            "experts_implementation",
            "chunk_size_feed_forward",
            "output_attentions",
            "output_hidden_states",
            "output_past",
            "return_dict",
            "use_return_dict",
            "use_cache",
        ],
    ),
    // Where it comes from, and what its tokenizer is, which the tokenizer's own files say.
    (
        NoEffect,
        &[
            "transformers_version",
            "_name_or_path",
            "name_or_path",
            "_commit_hash",
            "tokenizer_class",
            "prefix",
            "sentence_transformers",
            "bos_token_id",
            "eos_token_id",
            "sep_token_id",
            "cls_token_id",
            "mask_token_id",
            "unk_token_id",
            "decoder_start_token_id",
            "cross_attention_hidden_size",
        ],
    ),
    // Of writing text, which older versions stored in every config.
    (
        NoEffect,
        &[
            "max_length",
            "min_length",
            "do_sample",
            "early_stopping",
            "num_beams",
            "num_beam_groups",
            "diversity_penalty",
            "temperature",
            "top_k",
            "top_p",
            "typical_p",
            "repetition_penalty",
            "length_penalty",
            "no_repeat_ngram_size",
            "encoder_no_repeat_ngram_size",
            "bad_words_ids",
            "num_return_sequences",
            "output_scores",
            "return_dict_in_generate",
            "forced_bos_token_id",
            "forced_eos_token_id",
            "remove_invalid_values",
            "exponential_decay_length_penalty",
            "suppress_tokens",
            "begin_suppress_tokens",
        ],
    ),
];

const SHAPE: &[&str] = &[
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "hidden_act",
    "max_position_embeddings",
    "layer_norm_eps",
];

const ABSOLUTE: (SettingRule, &[&str]) = (Only("\"absolute\""), &["position_embedding_type"]);

pub const BERT: Table = &[
    (Followed, SHAPE),
    (Followed, &["type_vocab_size"]),
    ABSOLUTE,
    // Padding is masked, whatever its number.
    (NoEffect, &["pad_token_id"]),
    // Of a pooler that no version of the model has computed.
    (
        NoEffect,
        &[
            "directionality",
            "pooler_fc_size",
            "pooler_num_attention_heads",
            "pooler_num_fc_layers",
            "pooler_size_per_head",
            "pooler_type",
        ],
    ),
];

pub const ROBERTA: Table = &[(Followed, SHAPE), (Followed, &["type_vocab_size", "pad_token_id"]), ABSOLUTE];

pub const DISTILBERT: Table = &[
    (Followed, &["vocab_size", "max_position_embeddings", "dim", "n_layers", "n_heads", "hidden_dim", "activation"]),
    (SameAs("dim"), &["hidden_size"]),
    (SameAs("n_layers"), &["num_hidden_layers"]),
    (SameAs("n_heads"), &["num_attention_heads"]),
    ABSOLUTE,
    // The table of positions is always among the weights.
    (NoEffect, &["sinusoidal_pos_embds", "pad_token_id", "tie_weights_"]),
    (NoEffect, &["dropout", "attention_dropout", "qa_dropout", "seq_classif_dropout"]),
    // This family's epsilon is always 1e-12, and it has no segments.
    (NoEffect, &["layer_norm_eps", "type_vocab_size"]),
];

pub const ELECTRA: Table = &[
    (Followed, SHAPE),
    (Followed, &["type_vocab_size", "embedding_size"]),
    ABSOLUTE,
    (NoEffect, &["pad_token_id"]),
    // Of multiple choice alone.
    (NoEffect, &["summary_type", "summary_use_proj", "summary_activation", "summary_last_dropout"]),
];

pub const ALBERT: Table = &[
    (Followed, SHAPE),
    (Followed, &["type_vocab_size", "embedding_size", "num_hidden_groups", "inner_group_num"]),
    ABSOLUTE,
    (NoEffect, &["pad_token_id", "classifier_dropout_prob"]),
    // Of the first release, in TensorFlow.
    (NoEffect, &["net_structure_type", "num_memory_blocks", "gap_size", "down_scale_factor"]),
];

pub const MPNET: Table = &[
    (Followed, SHAPE),
    (Followed, &["relative_attention_num_buckets"]),
    ABSOLUTE,
    // Positions are counted from 1 on, whatever the padding is, and there are no segments.
    (NoEffect, &["pad_token_id", "type_vocab_size"]),
];

pub const DEBERTA: Table = &[
    (Followed, SHAPE),
    (
        Followed,
        &[
            "type_vocab_size",
            "embedding_size",
            "relative_attention",
            "max_relative_positions",
            "position_buckets",
            "position_biased_input",
            "pos_att_type",
            "norm_rel_ebd",
            "share_att_key",
            "conv_kernel_size",
            "conv_groups",
            "conv_act",
            "pooler_hidden_act",
        ],
    ),
    (Again(|config| config.hidden), &["pooler_hidden_size"]),
    (Again(Config::head_dim), &["attention_head_size"]),
    // The weights say which of the two masked-language-model heads there is.
    (NoEffect, &["legacy"]),
    (NoEffect, &["pad_token_id", "padding_idx", "pooler_dropout", "cls_dropout", "z_steps"]),
];

pub const MODERNBERT: Table = &[
    (
        Followed,
        &[
            "vocab_size",
            "hidden_size",
            "intermediate_size",
            "num_hidden_layers",
            "num_attention_heads",
            "hidden_activation",
            "max_position_embeddings",
            "norm_eps",
            "norm_bias",
            "attention_bias",
            "mlp_bias",
            "layer_types",
            "global_attn_every_n_layers",
            "local_attention",
            "rope_parameters",
            "global_rope_theta",
            "local_rope_theta",
            "decoder_bias",
            "classifier_pooling",
            "classifier_bias",
            "classifier_activation",
        ],
    ),
    (Again(Config::head_dim), &["head_dim"]),
    (Again(|config| config.window / 2), &["sliding_window"]),
    (Only("null"), &["rope_scaling"]),
    (Only("1.0"), &["partial_rotary_factor"]),
    // Both kinds of layers have theirs.
    (NoEffect, &["rope_theta"]),
    (NoEffect, &["pad_token_id", "position_embedding_type", "initializer_cutoff_factor"]),
    (NoEffect, &["attention_dropout", "embedding_dropout", "mlp_dropout"]),
    // Of training, and of faster kernels.
    (
        NoEffect,
        &[
            "deterministic_flash_attn",
            "sparse_prediction",
            "sparse_pred_ignore_index",
            "reference_compile",
            "repad_logits_with_grad",
        ],
    ),
];

/// The fields of a family: its own before those that all have.
pub fn of(own: Table) -> impl Iterator<Item = Setting> {
    (own.iter().chain(ALL)).flat_map(|(rule, fields)| fields.iter().map(|field| Setting { field, rule: *rule }))
}

/// A config whose fields have the names by which the family reads them.
///
/// # Errors
/// A sentence, if two names of one field have two values.
pub fn renamed(own: Table, mut stored: Stored) -> Result<Stored, String> {
    for Setting { field, rule } in of(own) {
        let SameAs(name) = rule else { continue };
        match (stored.get(field).cloned(), stored.get(name)) {
            (None, _) => {}
            (Some(value), None) => stored.set(name, value),
            (Some(value), Some(other)) if value == *other => {}
            (Some(value), Some(other)) => {
                return Err(format!("its {field} is {value} and its {name} {other}, which are one setting"));
            }
        }
    }
    Ok(stored)
}

/// Refuses a config with a value that is not computed here.
///
/// # Errors
/// A sentence that names the field.
pub fn check(own: Table, stored: &Stored, config: &Config) -> Result<(), String> {
    for Setting { field, rule } in of(own) {
        let Some(value) = stored.get(field) else { continue };
        let only = match rule {
            Only(only) => serde_json::from_str(only).map_err(|error| error.to_string())?,
            Again(what) => Value::from(what(config)),
            _ => continue,
        };
        let same = *value == only || value.as_f64().is_some_and(|value| Some(value) == only.as_f64());
        match field {
            _ if same => {}
            "is_decoder" => return Err("it describes a decoder (is_decoder), and only encoders can be opened".into()),
            "quantization_config" => {
                return Err("its weights are quantized (quantization_config), and only plain ones can be read".into());
            }
            "position_embedding_type" => {
                return Err(format!("its position_embedding_type is {value}, and only absolute positions are known"));
            }
            _ if only.is_null() => return Err(format!("it has a {field}, which is not known in this family")),
            _ => return Err(format!("its {field} is {value}, and only {only} can be computed")),
        }
    }
    Ok(())
}

/// What the load report says of a config's fields.
pub fn remarks(own: Table, stored: &Stored) -> Vec<String> {
    let mut remarks = Vec::new();
    for Setting { field, rule } in of(own) {
        if let (Told(what), Some(_)) = (rule, stored.get(field)) {
            remarks.push(format!("{field} {what}"));
        }
    }
    let unknown: Vec<&str> = stored.fields().filter(|name| of(own).all(|setting| setting.field != *name)).collect();
    if !unknown.is_empty() {
        remarks.push(format!("not known in this family, and not followed: {}", unknown.join(", ")));
    }
    remarks
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::FAMILIES;
    use super::*;

    #[test]
    fn no_field_stands_twice_and_every_value_is_json() {
        for family in FAMILIES {
            let mut seen = BTreeSet::new();
            for Setting { field, rule } in of(family.settings) {
                assert!(seen.insert(field), "{field} in {:?}", family.types);
                if let Only(only) = rule {
                    assert!(serde_json::from_str::<Value>(only).is_ok(), "{field}");
                }
            }
        }
    }
}
