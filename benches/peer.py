"""The peer of `cargo bench --bench capture`: Hugging Face `transformers`, eager attention, one text a line.

Answers each line with the milliseconds from text to attention, hidden states and pooled output as NumPy arrays.
"""

import sys
import time

import torch
from transformers import AutoTokenizer, BertModel

tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
model = BertModel.from_pretrained(sys.argv[1], attn_implementation="eager").eval()

for line in sys.stdin:
    start = time.perf_counter()
    with torch.inference_mode():
        encoded = tokenizer(line.rstrip("\n"), truncation=True, max_length=512, return_tensors="pt")
        result = model(**encoded, output_attentions=True, output_hidden_states=True)
        attention = torch.stack(result.attentions).numpy()
        hidden = [state.numpy() for state in result.hidden_states]
    print((time.perf_counter() - start) * 1e3, flush=True)
