"""Makes `weights/`: files of weights as a trainer of one's own leaves them. As `make.py`, from the root of the clone:

    python tests/golden/make_weights.py

The numbers are those of `tasks/sequence`, whose reference they are held against.
"""

import argparse
import collections
import json
import pathlib
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers
from make import HERE
from safetensors.torch import load_file, save_file
from transformers import AutoConfig

SOURCE = HERE / "tasks" / "sequence"


def trainer():
    """A checkpoint of a training loop: the model of a compiled, data-parallel class beside the optimizer and settings."""
    weights = load_file(SOURCE / "model.safetensors")
    bias = torch.nn.Parameter(weights["classifier.bias"].clone())
    optimizer = torch.optim.AdamW([bias])
    bias.grad = torch.ones_like(bias)
    optimizer.step()
    seen = collections.defaultdict(list)
    seen["loss"].append(np.float64(0.5))
    state = {
        "epoch": 3,
        "args": argparse.Namespace(lr=1e-3, out=pathlib.PurePosixPath("out").name, tasks={"a", "b"}),
        "history": seen,
        "size": torch.Size([2, 3]),
        "device": torch.device("cpu"),
        "dtype": torch.float16,
        "rng_state": torch.get_rng_state()[:16].clone(),
        "numpy_state": np.array([1, 2, 3]),
        "optimizer_state_dict": optimizer.state_dict(),
        "model_state_dict": {f"module._orig_mod.net.{name}": tensor for name, tensor in weights.items()},
    }
    folder = HERE / "weights" / "trainer"
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(state, folder / "pytorch_model.bin")


def headless():
    """What `transformers` names as missing when every tensor beside the encoder is dropped from each golden."""
    found = {}
    for source in sorted([*(HERE / "tasks").iterdir(), *(HERE / "families").iterdir()]):
        config = AutoConfig.from_pretrained(source)
        kind = getattr(transformers, config.architectures[0])
        weights = load_file(source / "model.safetensors")
        base = kind.base_model_prefix + "."
        with tempfile.TemporaryDirectory() as folder:
            config.save_pretrained(folder)
            inner = {name: tensor for name, tensor in weights.items() if name.startswith(base)}
            save_file(inner, Path(folder) / "model.safetensors", metadata={"format": "pt"})
            _, report = kind.from_pretrained(folder, output_loading_info=True)
        found[f"{source.parent.name}/{source.name}"] = {"base": base, "missing": sorted(report["missing_keys"])}
    (HERE / "weights" / "headless.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    trainer()
    headless()
