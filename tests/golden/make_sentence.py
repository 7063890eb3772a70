"""Makes `sentence/` with `sentence-transformers` itself: what it makes of small texts by every kind of recipe.

In the environment that `make.py` describes, with sentence-transformers==6.3.0, from the root of the clone:

    python tests/golden/make_sentence.py

`sentence/cases.json` holds each recipe's files, where the encoder (`tiny-bert`) lies, which files of weights lie where, and
for each text the vector; `sentence/*.safetensors` and `sentence/*.bin` are small random weights of modules.
"""

import json
import shutil
import tempfile
from pathlib import Path

import torch
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer

HERE = Path(__file__).parent
OUT = HERE / "sentence"
TEXTS = ["the cat sat on the mat", "Dog!"]
MODES = ["cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"]
OLDER = {
    "cls": "pooling_mode_cls_token",
    "max": "pooling_mode_max_tokens",
    "mean": "pooling_mode_mean_tokens",
    "mean_sqrt_len_tokens": "pooling_mode_mean_sqrt_len_tokens",
    "weightedmean": "pooling_mode_weightedmean_tokens",
    "lasttoken": "pooling_mode_lasttoken",
}
OWN = "sentence_transformers.models."
NEWER = {
    "Transformer": "sentence_transformers.base.modules.transformer.Transformer",
    "Pooling": "sentence_transformers.sentence_transformer.modules.pooling.Pooling",
    "Dense": "sentence_transformers.base.modules.dense.Dense",
    "Normalize": "sentence_transformers.base.modules.normalize.Normalize",
}


def recipe(*modules, encoder="", names=lambda kind: OWN + kind):
    """Files of a recipe: `modules` are (kind, config, weights)."""
    listed = [{"idx": 0, "name": "0", "path": encoder, "type": names("Transformer")}]
    files, copies = {}, {}
    for place, (kind, config, weights) in enumerate(modules, 1):
        path = f"{place}_{kind}"
        listed.append({"idx": place, "name": str(place), "path": path, "type": names(kind)})
        if config is not None:
            files[f"{path}/config.json"] = config
        if weights:
            copies[f"{path}/" + ("pytorch_model.bin" if weights.endswith(".bin") else "model.safetensors")] = weights
    files["modules.json"] = listed
    return {"files": files, "copies": copies, "encoder": encoder}


def pooling(mode="mean", **more):
    return ("Pooling", {"embedding_dimension": 24, "pooling_mode": mode} | more, None)


def older(*modes):
    return ("Pooling", {"word_embedding_dimension": 24} | {OLDER[mode]: mode in modes for mode in MODES}, None)


def dense(into, out, activation, weights, **more):
    config = {"in_features": into, "out_features": out, "bias": True}
    config |= {"activation_function": activation} if activation else {}
    return ("Dense", config | more, weights)


NORMALIZE = ("Normalize", None, None)
TANH = "torch.nn.modules.activation.Tanh"


def weights():
    torch.manual_seed(21)
    linear = lambda into, out, name="linear": {f"{name}.weight": torch.randn(out, into) / 4, f"{name}.bias": torch.randn(out) / 4}
    made = {
        "dense-24-6.safetensors": linear(24, 6),
        "dense-6-4.safetensors": linear(6, 4),
        "dense-24-24.safetensors": linear(24, 24),
        "dense-24-6-bare.bin": {"linear.weight": torch.randn(6, 24) / 4},
        "dense-24-6-residual.safetensors": linear(24, 6) | {"residual.weight": torch.randn(6, 24) / 4},
        "norm-24.safetensors": {"norm.weight": torch.randn(24), "norm.bias": torch.randn(24)},
    }
    for name, tensors in made.items():
        if name.endswith(".bin"):
            torch.save(tensors, OUT / name)
        else:
            save_file(tensors, OUT / name)


def cases():
    yield from ((f"{mode}, newer", recipe(pooling(mode))) for mode in MODES)
    yield from ((f"{mode}, older", recipe(older(mode), NORMALIZE)) for mode in MODES)
    yield "one in a list", recipe(pooling(["max"]))
    yield "joined, newer", recipe(pooling(["mean", "cls"]))
    yield "joined, older", recipe(older("mean", "cls", "lasttoken"))
    yield "all joined", recipe(pooling(MODES), NORMALIZE)
    yield "none of the older", recipe(older())
    yield "both spellings", recipe(("Pooling", older("cls")[1] | {"pooling_mode": "lasttoken"}, None))
    yield "newer names", recipe(pooling("cls"), NORMALIZE, names=lambda kind: NEWER[kind])
    yield "no mode", recipe(("Pooling", {"word_embedding_dimension": 24}, None))
    small = "dense-24-6.safetensors"
    yield "dense", recipe(pooling(), dense(24, 6, TANH, small), NORMALIZE)
    yield "dense without a named activation", recipe(pooling(), dense(24, 6, None, small))
    yield "dense without bias", recipe(pooling(), dense(24, 6, "torch.nn.modules.linear.Identity", "dense-24-6-bare.bin", bias=False))
    for name in ["Identity", "ReLU", "GELU", "Sigmoid", "SiLU", "LeakyReLU", "ELU", "SELU", "Softplus", "Mish", "ReLU6", "Hardtanh", "Hardswish", "LogSigmoid"]:
        yield f"dense with {name}", recipe(pooling("cls"), dense(24, 6, f"torch.nn.{name}", small))
    yield "dense after dense", recipe(pooling("cls"), dense(24, 6, TANH, small), NORMALIZE, dense(6, 4, "torch.nn.modules.activation.ReLU", "dense-6-4.safetensors"))
    yield "normalize before dense", recipe(pooling(), NORMALIZE, dense(24, 6, TANH, small))
    yield "residual", recipe(pooling(), dense(24, 24, TANH, "dense-24-24.safetensors", use_residual=True))
    yield "projected residual", recipe(pooling(), dense(24, 6, TANH, "dense-24-6-residual.safetensors", use_residual=True))
    yield "dense on tokens", recipe(dense(24, 6, TANH, small, module_input_name="token_embeddings"), pooling(["max", "mean"]))
    yield "normalize on tokens", recipe(("Normalize", {"module_input_name": "token_embeddings"}, None), pooling())
    yield "normalize without its input", recipe(NORMALIZE, pooling())
    yield "layer norm", recipe(pooling(), ("LayerNorm", {"dimension": 24}, "norm-24.safetensors"))
    yield "dropout", recipe(pooling(), ("Dropout", {"dropout": 0.5}, None))
    prompts = {"prompts": {"query": "the dog, ", "document": ""}}
    for mode in MODES:
        case = recipe(pooling(mode, include_prompt=False))
        case["files"]["config_sentence_transformers.json"] = prompts
        yield f"{mode} without the prompt", case | {"prompt_name": "query"}
    case = recipe(pooling())
    case["files"]["config_sentence_transformers.json"] = prompts
    yield "with the prompt", case | {"prompt_name": "query"}
    yield "old layout", recipe(older("mean"), encoder="0_Transformer")
    yield "another path", recipe(pooling("max"), dense(24, 6, TANH, small), encoder="parts/encoder")
    for name in ["sentence_bert_config.json", "sentence_roberta_config.json"]:
        case = recipe(pooling())
        case["files"][name] = {"max_seq_length": 6, "do_lower_case": False}
        yield f"max_seq_length in {name}", case
    case = recipe(pooling(), encoder="0_Transformer")
    case["files"]["0_Transformer/sentence_bert_config.json"] = {"max_seq_length": 5}
    yield "max_seq_length in the old layout", case
    case = recipe(pooling())
    case["files"] |= {"sentence_bert_config.json": {"do_lower_case": True}, "tokenizer_config.json": {"do_lower_case": False}}
    yield "do_lower_case", case


def main():
    OUT.mkdir(exist_ok=True)
    weights()
    found = []
    for name, case in cases():
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            shutil.copytree(HERE / "tiny-bert", folder / case["encoder"], dirs_exist_ok=True)
            for path, content in case["files"].items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_text(json.dumps(content))
            for path, source in case["copies"].items():
                shutil.copy(OUT / source, folder / path)
            model = SentenceTransformer(str(folder), device="cpu")
            vectors = [model.encode(text, prompt_name=case.get("prompt_name")) for text in TEXTS]
            prompt = model.prompts.get(case.get("prompt_name")) or ""
        texts = [prompt + text for text in TEXTS]
        found.append({"name": name} | case | {"texts": texts, "vectors": [[float(f"{x:.7g}") for x in v] for v in vectors]})
        print(name, len(vectors[0]), vectors[0][:2])
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in found)
    (OUT / "cases.json").write_text(f"[\n{lines}\n]\n")


main()
