"""Holds folders that `headlight prune` wrote against Hugging Face `transformers`.

From the root of the clone, after `cargo xtask setup`:

    python tests/golden/compare_pruned.py target/release/headlight PATH_OF_THE_MODEL

With `transformers` 5 (the environment that `make.py` describes) the folder of the same shape is read, with
`transformers` 4, the last to know `pruned_heads`, the compact one as well. Prints the greatest absolute difference of
the last hidden state between `transformers` on the pruned folder, Headlight on it, and Headlight on the whole model with
the same heads switched off.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import transformers
from safetensors import safe_open
from transformers import AutoTokenizer, BertModel

binary, folder = sys.argv[1], sys.argv[2]
text = "The animal didn't cross the street because it was too tired."
shapes = ["--same-shape"] if int(transformers.__version__.split(".")[0]) >= 5 else ["--same-shape", None]


def last_hidden_state(folder, scratch, *words):
    out = Path(scratch) / "run.safetensors"
    subprocess.run([binary, "run", "--model", folder, "--text", text, *words, "--out", out], check=True,
                   stdout=subprocess.DEVNULL)  # fmt: skip
    with safe_open(out, "pt") as file:
        return file.get_tensor("last_hidden_state")


for heads in [["0.1"], ["0.1", "3.4", "5.11"], ["2.*"], ["*.0", "1.*"]]:
    for shape in shapes:
        with tempfile.TemporaryDirectory() as scratch:
            pruned = Path(scratch) / "pruned"
            subprocess.run([binary, "prune", "--model", folder, "--heads", ",".join(heads), "--out", pruned,
                            *([shape] if shape else [])], check=True, capture_output=True)  # fmt: skip
            model = BertModel.from_pretrained(pruned, attn_implementation="eager").eval()
            encoded = AutoTokenizer.from_pretrained(pruned)(text, return_tensors="pt")
            with torch.no_grad():
                theirs = model(**encoded).last_hidden_state[0]
            ours = last_hidden_state(pruned, scratch)
            zeroed = last_hidden_state(folder, scratch, *(word for head in heads for word in ("--edit", f"{head}=zero")))
        print(
            f"transformers {transformers.__version__}, {shape or 'compact':12} {','.join(heads):16}"
            f" theirs to ours {(theirs - ours).abs().max():.2e}, theirs to zero {(theirs - zeroed).abs().max():.2e}"
        )
