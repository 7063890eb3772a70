"""Writes `fuzz/corpus/`: for each target a few small files that open (`opens-…`) and some that must be refused (`refused-…`).

With torch and sentencepiece installed, from the root of the clone:  python fuzz/corpus.py
"""

import io
import json
import pickle
import struct
import zipfile
from pathlib import Path

import sentencepiece
import torch

ROOT = Path(__file__).parent
GOLDEN = ROOT.parent / "tests" / "golden"


def write(target, files):
    folder = ROOT / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def nested(depth):
    return "[" * depth + "]" * depth


def configs():
    files = {"opens-family": '{"model_type": "bert"}', "refused-empty": "{}", "refused-no-json": "text", "refused-deep": nested(10_000), "refused-none": ""}
    for folder in sorted((GOLDEN / "families").iterdir()):
        config = json.loads((folder / "config.json").read_text())
        files.setdefault(f"opens-{config['model_type']}", json.dumps(config))
    usual = {"model_type": "bert", "hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 2}
    for name, change in {
        "layers": {"num_hidden_layers": 10**9}, "no-heads": {"num_attention_heads": 0}, "odd": {"num_attention_heads": 3},
        "negative": {"hidden_size": -8}, "huge": {"hidden_size": 2**63, "num_attention_heads": 1},
        "activation": {"hidden_act": "sine"}, "family": {"model_type": "gpt2"}, "decoder": {"is_decoder": True},
        "text": {"hidden_size": "8"}, "list": {"num_hidden_layers": [2]},
    }.items():  # fmt: skip
        files[f"refused-{name}"] = json.dumps(usual | change)
    write("config", files)


def tensors():
    """The model that `feed.rs` describes."""
    torch.manual_seed(3)
    linear = lambda name, out, into: {f"{name}.weight": torch.randn(out, into), f"{name}.bias": torch.randn(out)}
    norm = lambda name: {f"{name}.weight": torch.randn(4), f"{name}.bias": torch.randn(4)}
    names = {"embeddings.word_embeddings.weight": torch.randn(5, 4)}
    names |= {"embeddings.position_embeddings.weight": torch.randn(8, 4)}
    names |= {"embeddings.token_type_embeddings.weight": torch.randn(2, 4)}
    names |= norm("embeddings.LayerNorm")
    layer = "encoder.layer.0"
    for part in ["attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"]:
        names |= linear(f"{layer}.{part}", 4, 4)
    names |= norm(f"{layer}.attention.output.LayerNorm")
    names |= linear(f"{layer}.intermediate.dense", 4, 4) | linear(f"{layer}.output.dense", 4, 4)
    return names | norm(f"{layer}.output.LayerNorm")


def safetensors():
    def packed(values, change=lambda header: header):
        header, data = {}, b""
        for name, tensor in values.items():
            own = tensor.numpy().tobytes()
            header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(own)]}
            data += own
        text = json.dumps(change(header)).encode()
        return struct.pack("<Q", len(text)) + text + data

    def with_first(**change):
        def changed(header):
            first = next(iter(header))
            return header | {first: header[first] | change}

        return packed(tensors(), changed)

    whole = packed(tensors())
    halves = {name: tensor for name, tensor in list(tensors().items())[1:]}
    write("safetensors", {
        "opens-whole": whole,
        "opens-prefixed": packed({f"bert.{name}": tensor for name, tensor in tensors().items()}),
        "opens-buffer": packed(tensors() | {"embeddings.position_ids": torch.zeros(8)}),
        "opens-nan": packed(tensors() | {"embeddings.LayerNorm.bias": torch.full((4,), float("nan"))}),
        "refused-short": whole[:-3],
        "refused-missing": packed(halves),
        "refused-no-header": struct.pack("<Q", 2**63) + b"{}",
        "refused-empty": b"",
        "refused-shape": with_first(shape=[4, 5]),
        "refused-huge": with_first(shape=[2**32, 2**32]),
        "refused-overlap": with_first(data_offsets=[16, 96]),
        "refused-backwards": with_first(data_offsets=[80, 0]),
        "refused-kind": with_first(dtype="I64"),
    })  # fmt: skip


class Evil:
    def __reduce__(self):
        import os

        return os.system, ("true",)


def pickles():
    def saved(values, **how):
        out = io.BytesIO()
        torch.save(values, out, **how)
        return out.getvalue()

    zipped, legacy = saved(tensors()), saved(tensors(), _use_new_zipfile_serialization=False)
    deflated = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(zipped)) as old, zipfile.ZipFile(deflated, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    write("pickle", {
        "opens-zip": zipped,
        "opens-legacy": legacy,
        "opens-half": saved({name: tensor.half() for name, tensor in tensors().items()}),
        "opens-state-dict": saved({"state_dict": tensors(), "epoch": 3}),
        "opens-strided": saved(tensors() | {"embeddings.word_embeddings.weight": torch.randn(4, 5).t()}),
        "refused-runs-code": pickle.dumps(Evil()),
        "refused-runs-code-in-legacy": saved({"a": Evil()}, _use_new_zipfile_serialization=False),
        "refused-runs-code-in-zip": saved({"a": Evil()}),
        "refused-deflated": deflated.getvalue(),
        "refused-short-zip": zipped[: len(zipped) // 2],
        "refused-short-legacy": legacy[: len(legacy) // 2],
        "refused-huge": b"\x80\x02]" + b"(lq\x00" * 50 + b"\x8b\xff\xff\xff\x7f.",
        "refused-deep": b"\x80\x02" + b"]" * 5000 + b"a" * 4999 + b".",
        "refused-itself": b"\x80\x02]q\x00h\x00a.",
        "refused-empty": b"",
    })  # fmt: skip


def tokenizers():
    words = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4, "the": 5, "cat": 6, "##s": 7}
    piece = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 9}
    whole = {"version": "1.0", "normalizer": {"type": "BertNormalizer", "lowercase": True, "clean_text": True,
        "handle_chinese_chars": True, "strip_accents": None}, "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
        "model": piece | {"vocab": words}}  # fmt: skip
    unigram = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0], ["b", -2.0]]}
    bpe = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}
    write("tokenizer", {
        "opens-words": json.dumps(whole),
        "opens-unigram": json.dumps({"version": "1.0", "model": unigram}),
        "opens-bpe": json.dumps({"version": "1.0", "model": bpe, "pre_tokenizer": {"type": "ByteLevel",
            "add_prefix_space": False, "trim_offsets": True, "use_regex": True}}),
        "refused-no-json": "text",
        "refused-empty": "{}",
        "refused-deep": nested(10_000),
        "refused-model": json.dumps(whole | {"model": {"type": "Other"}}),
        "refused-merge": json.dumps({"version": "1.0", "model": bpe | {"merges": ["a c"]}}),
        "refused-long-merge": json.dumps({"version": "1.0", "model": bpe | {"vocab": {"a": 0, "b": 1, "": 2}}}),
        "refused-prefix": json.dumps({"version": "1.0", "model": bpe | {"continuing_subword_prefix": "###"}}),
        "refused-trailing": json.dumps({"version": "1.0", "model": bpe | {"continuing_subword_prefix": "###"}}) + "[",
        "refused-unknown": json.dumps({"version": "1.0", "model": unigram | {"unk_id": 9}}),
        "refused-utf8": b'{"version": "\xff"}',
    })  # fmt: skip


def vocabularies():
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "##s"]
    lines = lambda words, end="\n": "{}\n" + "".join(word + end for word in words)
    write("vocabulary", {
        "opens-words": lines(words),
        "opens-windows": lines(words, "\r\n"),
        "opens-twice": lines([*words, "cat", "cat"]),
        "opens-cased": '{"do_lower_case": false}\n' + lines(words)[3:],
        "refused-no-unknown": lines([word for word in words if word != "[UNK]"]),
        "refused-settings": '{"do_lower_case": 7}\n',
        "refused-empty": "",
        "refused-utf8": lines(words).encode() + b"\xff\xfe\n",
    })  # fmt: skip


def sentence_pieces():
    def trained(**how):
        out = io.BytesIO()
        texts = ["the cat sat on the mat", "a dog walks in the park", "cats and dogs"] * 9
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(texts), model_writer=out, vocab_size=30,
            hard_vocab_limit=False, normalization_rule_name="identity", minloglevel=2, **how)  # fmt: skip
        return out.getvalue()

    plain = trained()
    write("sentence_piece", {
        "opens-plain": plain,
        "opens-albert": trained(pad_id=0, unk_id=1, bos_id=-1, eos_id=-1, control_symbols="[CLS],[SEP],[MASK]"),
        "opens-deberta": trained(pad_id=0, bos_id=1, eos_id=2, unk_id=3, pad_piece="[PAD]", bos_piece="[CLS]",
            eos_piece="[SEP]", unk_piece="[UNK]"),
        "refused-bpe": trained(model_type="bpe"),
        "refused-short": plain[: len(plain) // 2],
        "refused-text": "text",
        "refused-empty": b"",
        "refused-length": b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    })  # fmt: skip


def sessions():
    usual = {"version": 1, "model": {"name": "tiny", "folder": "tiny"}, "texts": {"a": "the cat", "b": "猫"}}
    edits = ["3.4=zero", "0.0=freeze@text:a\tb", "2.1=cut:4>7", "1.0=scale:0.5"]
    saved = usual | {"masked": [2], "edits": [{"edit": edit, "on": True} for edit in edits]}
    write("session", {
        "opens-least": json.dumps(usual),
        "opens-edits": json.dumps(saved, ensure_ascii=False),
        "opens-pinned": json.dumps(saved | {"pinned": {"texts": {"a": "a dog"}, "edits": ["0.1=zero"]}}),
        "refused-later": json.dumps(usual | {"version": 99}),
        "refused-negative": json.dumps(usual | {"version": -1}),
        "refused-edit": json.dumps(saved | {"edits": [{"edit": "3.4=explode"}]}),
        "refused-head": json.dumps(saved | {"edits": [{"edit": "99999999999999999999.0=zero"}]}),
        "refused-list": "[1]",
        "refused-deep": nested(10_000),
        "refused-empty": "",
        "refused-utf8": b'{"version": 1, "model": "\xff"}',
    })  # fmt: skip


for make in [configs, safetensors, pickles, tokenizers, vocabularies, sentence_pieces, sessions]:
    make()
