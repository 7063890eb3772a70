"""Compares `headlight run` with Hugging Face `transformers` in full, number by number.

In the environment that `make.py` describes, from the root of the clone, after `cargo xtask setup`:

    python tests/golden/compare.py target/release/headlight PATH_OF_THE_MODEL

Prints the greatest absolute difference of each array, for single texts, pairs, a single token and the longest text.
The goldens hold samples of the same cases; this script is for whoever wants all of them, or another model.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from safetensors import safe_open
from transformers import AutoTokenizer, BertModel

binary, folder = sys.argv[1], sys.argv[2]
tokenizer = AutoTokenizer.from_pretrained(folder)
model = BertModel.from_pretrained(folder, attn_implementation="eager").eval()
positions = model.config.max_position_embeddings

cases = {
    "single": ["--text", "The animal didn't cross the street because it was too tired."],
    "pair": ["--text", "A man is eating food.", "--text-b", "Somebody eats a naïve pasta 🍝!"],
    "empty": ["--text", ""],
    "one token": ["--ids", "7592"],
    "128 tokens": ["--text", " ".join(["the animal crossed a street, too tired"] * 18)],
    "longest": ["--text", " ".join(f"Sentence {i} says the animal didn't cross the street." for i in range(80))],
    "longest pair": [
        "--text", " ".join(f"Sentence {i} is here." for i in range(80)),
        "--text-b", " ".join(f"Sentence {i} is there." for i in range(160)),
    ],
}  # fmt: skip

print(f"{'case':14}{'tokens':>7}{'attention':>12}{'hidden':>12}{'pooler':>12}{'embedding':>12}")
for name, words in cases.items():
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "run.safetensors"
        subprocess.run([binary, "run", "--model", folder, *words, "--out", out], check=True, stdout=subprocess.DEVNULL)
        with safe_open(out, "pt") as file:
            ours = {key: file.get_tensor(key) for key in file.keys()}
    if words[0] == "--ids":
        encoded = {"input_ids": torch.tensor([[int(word) for word in words[1].split()]])}
        encoded["token_type_ids"] = torch.zeros_like(encoded["input_ids"])
    else:
        pair = words[3] if len(words) > 2 else None
        encoded = tokenizer(words[1], pair, truncation=True, max_length=positions, return_tensors="pt")
    assert torch.equal(encoded["input_ids"][0], ours["input_ids"]), f"{name}: other token ids"
    assert torch.equal(encoded["token_type_ids"][0], ours["token_type_ids"]), f"{name}: other token types"
    with torch.no_grad():
        theirs = model(
            input_ids=encoded["input_ids"], token_type_ids=encoded["token_type_ids"], output_attentions=True
        )
    last = theirs.last_hidden_state[0]
    embedding = torch.nn.functional.normalize(last.mean(0), dim=0)
    differences = [
        (ours["attention"] - torch.stack(theirs.attentions)[:, 0]).abs().max(),
        (ours["last_hidden_state"] - last).abs().max(),
        (ours["pooler_output"] - theirs.pooler_output[0]).abs().max(),
        (ours["sentence_embedding"] - embedding).abs().max(),
    ]
    print(f"{name:14}{len(ours['input_ids']):>7}" + "".join(f"{d.item():>12.2e}" for d in differences))
