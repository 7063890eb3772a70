"""Makes `settings.safetensors` and `settings.json`: what `transformers` computes from the small models of this folder when
one field of their `config.json` has another value.

    python tests/golden/make_settings.py

in the environment that `make.py` describes. A case without numbers is one that `transformers` cannot load, or loads with
weights missing. `fields` are all that today's config of each family declares.
"""

import json
import shutil
import tempfile
from dataclasses import fields
from pathlib import Path

import numpy as np
import torch
import transformers
from safetensors.numpy import load_file, save_file
from transformers import AutoConfig

HERE = Path(__file__).parent
HIDDEN, LOGITS = 5, 7  # every so many numbers are kept

# For each model, values of fields: one, or several that belong together, the first being the one that is meant.
USUAL = {
    "hidden_size": 20, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 21, "hidden_act": "relu",
    "max_position_embeddings": 45, "type_vocab_size": 3, "layer_norm_eps": 0.3, "vocab_size": 29,
    "tie_word_embeddings": False, "hidden_dropout_prob": 0.5, "attention_probs_dropout_prob": 0.5,
    "classifier_dropout": 0.5, "initializer_range": 3.0, "use_cache": False, "bos_token_id": 5, "eos_token_id": 5,
    "pad_token_id": 5, "chunk_size_feed_forward": 1, "is_decoder": True, "add_cross_attention": True,
}  # fmt: skip
ACTS = ["gelu_python", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "gelu_python_tanh", "gelu_accurate", "silu", "swish",
        "tanh", "mish", "quick_gelu", "gelu_10", "relu2"]  # fmt: skip
NO_DECODER = {key: value for key, value in USUAL.items() if key not in ("is_decoder", "add_cross_attention", "use_cache", "classifier_dropout")}
CASES = {
    "tasks/sequence": [USUAL, *({"hidden_act": act} for act in ACTS), {"tie_word_embeddings": False}],
    "tasks/masked-lm-untied": [{"tie_word_embeddings": True}, {"hidden_act": "relu"}, {"layer_norm_eps": 0.3}],
    "tiny-bert": [{"layer_norm_eps": 0.3}, {"hidden_act": "tanh"}],
    "families/roberta-masked-lm": [USUAL, {"pad_token_id": 0}, {"pad_token_id": 7}, {"pad_token_id": 30}, {"pad_token_id": None}],
    "families/roberta-sequence": [{"layer_norm_eps": 0.3}, {"hidden_act": "relu"}],
    "families/xlm-roberta-token": [USUAL],
    "families/camembert-question": [USUAL],
    "families/distilbert-masked-lm": [
        {
            "dim": 20, "n_layers": 1, "n_heads": 4, "hidden_dim": 21, "activation": "relu", "max_position_embeddings": 45,
            "vocab_size": 29, "tie_word_embeddings": False, "dropout": 0.5, "attention_dropout": 0.5, "qa_dropout": 0.5,
            "seq_classif_dropout": 0.5, "initializer_range": 3.0, "bos_token_id": 5, "eos_token_id": 5, "pad_token_id": 5,
            "sinusoidal_pos_embds": True, "chunk_size_feed_forward": 1, "layer_norm_eps": 0.3, "type_vocab_size": 3,
        },
        {"hidden_size": 16, "dim": ...}, {"num_attention_heads": 4, "n_heads": ...}, {"num_hidden_layers": 1, "n_layers": ...},
    ],
    "families/distilbert-sequence": [{"activation": "relu"}],
    "families/electra-masked-lm": [
        USUAL | {"embedding_size": 11, "summary_type": "last", "summary_use_proj": False, "summary_activation": "tanh",
                 "summary_last_dropout": 0.5},
    ],
    "families/electra-sequence": [{"summary_activation": "tanh"}, {"summary_type": "last"}, {"hidden_act": "relu"}],
    "families/albert-pretraining": [
        NO_DECODER | {"embedding_size": 11, "num_hidden_groups": 1, "inner_group_num": 2, "classifier_dropout_prob": 0.5,
                      "net_structure_type": 3, "num_memory_blocks": 3, "gap_size": 3, "down_scale_factor": 3},
        {"num_hidden_layers": 5}, {"num_hidden_layers": 2},
    ],
    "families/mpnet-masked-lm": [NO_DECODER | {"relative_attention_num_buckets": 16}, {"pad_token_id": 0}],
    "families/deberta-v3-masked-lm": [
        NO_DECODER | {
            "relative_attention": False, "max_relative_positions": 11, "position_buckets": 6, "position_biased_input": True,
            "pos_att_type": ["c2p"], "norm_rel_ebd": "none", "share_att_key": False, "pooler_dropout": 0.5,
            "conv_kernel_size": 3, "embedding_size": 11, "z_steps": 2, "padding_idx": 3,
        },
        {"pos_att_type": "P2C | c2p"}, {"pos_att_type": "p2c"}, {"pos_att_type": None},
    ],
    "families/deberta-v3-sequence": [{"pooler_hidden_act": "tanh"}, {"layer_norm_eps": 0.3}, {"legacy": False}],
    "families/deberta-v2-token": [{"conv_act": "relu"}, {"conv_groups": 2}, {"conv_kernel_size": 5}, {"conv_kernel_size": 0},
        {"position_biased_input": False}, {"max_relative_positions": 11}, {"share_att_key": True}, {"type_vocab_size": 0}],
    "families/modernbert-sequence": [
        {
            "hidden_size": 20, "intermediate_size": 21, "num_attention_heads": 4, "hidden_activation": "relu",
            "max_position_embeddings": 30, "initializer_range": 3.0, "initializer_cutoff_factor": 3.0, "norm_eps": 0.3,
            "norm_bias": True, "pad_token_id": 5, "bos_token_id": 5, "eos_token_id": 5, "cls_token_id": 5, "sep_token_id": 5,
            "attention_bias": True, "attention_dropout": 0.5, "local_attention": 4, "embedding_dropout": 0.5,
            "mlp_bias": True, "mlp_dropout": 0.5, "classifier_pooling": "cls", "classifier_dropout": 0.5,
            "classifier_bias": True, "classifier_activation": "relu", "deterministic_flash_attn": True,
            "sparse_prediction": True, "sparse_pred_ignore_index": 3, "vocab_size": 29, "reference_compile": False,
            "repad_logits_with_grad": True, "position_embedding_type": "sans_pos", "rope_theta": 50.0,
            "layer_types": ["sliding_attention", "full_attention", "full_attention"],
            "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 50.0}, "sliding_attention": {"rope_type": "default", "rope_theta": 20.0}},
            "chunk_size_feed_forward": 1, "layer_norm_eps": 0.3, "hidden_act": "relu",
        },
        {"num_hidden_layers": 2, "layer_types": ["full_attention", "sliding_attention"]},
        {"global_attn_every_n_layers": 3, "layer_types": None}, {"global_attn_every_n_layers": 1, "layer_types": None},
        {"global_rope_theta": 50.0, "rope_parameters": None}, {"local_rope_theta": 50.0, "rope_parameters": None},
        {"global_rope_theta": 50.0, "rope_parameters": {"full_attention": {"rope_type": "default"}}},
        {"rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 50.0}}},
    ],
    "families/modernbert-token": [{"norm_bias": False}, {"attention_bias": False}],
    "families/modernbert-masked-lm": [{"decoder_bias": False}, {"sparse_prediction": True}, {"tie_word_embeddings": False},
        {"norm_eps": 0.3}, {"classifier_activation": "relu"}, {"hidden_activation": "relu"}],
}  # fmt: skip


def cases():
    for base, groups in CASES.items():
        for group in groups:
            joint = len(group) < 3
            for field, value in [next(iter(group.items()))] if joint else group.items():
                yield base, field, {**{field: value}, **(group if joint else {})}


@torch.no_grad()
def numbers(base, changes):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder) / "model"
        shutil.copytree(HERE / base, folder)
        config = json.loads((folder / "config.json").read_text())
        config.update(changes)
        config = {key: value for key, value in config.items() if value is not ...}
        (folder / "config.json").write_text(json.dumps(config))
        kind = getattr(transformers, config["architectures"][0])
        try:
            model, told = kind.from_pretrained(folder, attn_implementation="eager", output_loading_info=True)
            if told["missing_keys"] or told["mismatched_keys"]:
                return None
            if base == "tiny-bert":
                given = {"input_ids": torch.tensor([[2, 36, 37, 40, 41, 36, 42, 3]])}
            else:
                reference = load_file(folder / "reference.safetensors")
                given = {"input_ids": torch.tensor(reference["input_ids"])[None]}
                if reference["token_type_ids"].any():
                    given["token_type_ids"] = torch.tensor(reference["token_type_ids"])[None]
            given["attention_mask"] = torch.ones_like(given["input_ids"])
            model.eval()
            hidden = model.base_model(**given).last_hidden_state[0].numpy()
            if base == "tiny-bert":
                logits = np.zeros(0, dtype=np.float32)
            else:
                result = model(**given)
                if "start_logits" in result:
                    logits = torch.stack([result.start_logits[0], result.end_logits[0]], -1).numpy()
                else:
                    logits = (result["prediction_logits"] if "prediction_logits" in result else result.logits)[0].numpy()
        except Exception as error:  # whatever it is that the value does
            print(f"  {type(error).__name__}: {str(error).splitlines()[0][:100]}")
            return None
        return hidden.reshape(-1)[::HIDDEN].copy(), logits.reshape(-1)[::LOGITS].copy()


def main():
    found, tensors = [], {}
    plain = {base: numbers(base, {}) for base in CASES}
    for base, field, changes in cases():
        print(base, changes)
        made, number = numbers(base, changes), len(found)
        case = {"base": base, "field": field, "changes": {key: None if value is ... else value for key, value in changes.items()}}
        if made is None:
            case["outcome"] = "none"
        else:
            far = max(np.abs(a - b).max(initial=0) if a.shape == b.shape else 9.0 for a, b in zip(made, plain[base]))
            case["outcome"] = "same" if far < 1e-5 else "changed"
            if case["outcome"] == "changed":
                tensors[f"{number}/hidden"], tensors[f"{number}/logits"] = made
        print("  ", case["outcome"])
        found.append(case)
    for number, (base, made) in enumerate(plain.items()):
        tensors[f"{base}/hidden"], tensors[f"{base}/logits"] = made
    kinds = ["bert", "roberta", "xlm-roberta", "camembert", "distilbert", "electra", "albert", "mpnet", "deberta-v2", "modernbert"]
    declared = {}
    for kind in kinds:
        config = AutoConfig.for_model(kind)
        names = {field.name for field in fields(config)} | set(config.to_dict())
        declared[kind] = sorted(name for name in names if not name.startswith("_"))
    save_file(tensors, HERE / "settings.safetensors")
    lines = ",\n".join(json.dumps(case) for case in found)
    known = ",\n".join(f"{json.dumps(kind)}: {json.dumps(names)}" for kind, names in declared.items())
    (HERE / "settings.json").write_text(f'{{"cases": [\n{lines}\n],\n"fields": {{\n{known}\n}}}}\n')


if __name__ == "__main__":
    main()
