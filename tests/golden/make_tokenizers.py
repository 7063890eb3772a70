"""Makes `tokenizers.json`: what `transformers` makes of texts where a folder's files name tokens beside the vocabulary.

In the virtual environment of `make.py`, from the root of the clone:

    python tests/golden/make_tokenizers.py

Each case lays some files over a small tokenizer of this folder. The numbers of its texts are those of `transformers`;
where `transformers` refuses, `refused` holds its reason, for a reader of the file. A file is a text (JSON for the
names that end so), or bytes in base64.
"""

import base64
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
import transformers
from transformers import AutoTokenizer

transformers.logging.set_verbosity_error()
if transformers.__version__ != "5.24.0":
    sys.exit(f"transformers is {transformers.__version__}, but the references are made with 5.24.0")

HERE = Path(__file__).parent
WORDS = (HERE / "tiny-bert" / "vocab.txt").read_text(encoding="utf-8")
CASES = []


def lay(folder, base, files):
    if base == "bert":
        (folder / "config.json").write_text(json.dumps({"model_type": "bert"}))
        (folder / "vocab.txt").write_text(WORDS, encoding="utf-8")
    else:
        shutil.copytree(HERE / "text" / base, folder, dirs_exist_ok=True)
        (folder / "reference.json").unlink(missing_ok=True)
        if base == "byte-level":
            (folder / "config.json").write_text(json.dumps({"model_type": "roberta"}))
    for name, content in files.items():
        content = content if isinstance(content, (str, bytes)) else json.dumps(content)
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)


def case(name, files, texts, base="bert", group="added"):
    with tempfile.TemporaryDirectory() as folder:
        lay(Path(folder), base, files)
        stored = {}
        for file, content in files.items():
            if isinstance(content, bytes):
                stored[file] = {"base64": base64.b64encode(content).decode()}
            else:
                stored[file] = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        made = {"name": name, "group": group, "base": base, "files": stored, "texts": []}
        try:
            tokenizer = AutoTokenizer.from_pretrained(folder)
            made["mask"] = tokenizer.mask_token_id
            for text in texts:
                a, b = text if isinstance(text, tuple) else (text, None)
                made["texts"].append({"a": a, "b": b, "ids": tokenizer(a, b)["input_ids"]})
        except Exception as error:
            made["refused"] = f"{type(error).__name__}: {str(error).splitlines()[0][:100]}"
            made["texts"] = []
        CASES.append(made)


def token(content, lstrip=False, rstrip=False, normalized=False, single_word=False, **more):
    return dict(content=content, lstrip=lstrip, rstrip=rstrip, normalized=normalized, single_word=single_word, **more)


E = ["the [E1] cat", "the[E1]cat [e1]", "the [E2] [E3] cat", ("the [E1]", "[E1] cat")]
NAMES = {
    "added_tokens": ({"added_tokens.json": {"[E1]": 49, "newword": 50}}, [*E, "the NewWord cats newwords"]),
    "added, with a gap": ({"added_tokens.json": {"[E1]": 60}}, E),
    "added, in another order": ({"added_tokens.json": {"[E1]": 51, "[E2]": 49}}, E),
    "added, already there": ({"added_tokens.json": {"cat": 40, "[MASK]": 4}}, ["cats concat", "the [mask] [MASK]"]),
    "added and special": (
        {"added_tokens.json": {"[E1]": 49}, "tokenizer_config.json": {"additional_special_tokens": ["[E1]"]}},
        E,
    ),
    "added and special in the map": (
        {"added_tokens.json": {"[E1]": 49}, "special_tokens_map.json": {"additional_special_tokens": ["[E1]"]}},
        E,
    ),
    "added and the unknown token": (
        {"added_tokens.json": {"[E1]": 49, "[E2]": 50}, "tokenizer_config.json": {"mask_token": "[E2]"}},
        E,
    ),
    "the map's list": ({"special_tokens_map.json": {"additional_special_tokens": ["[E1]", "[E2]"]}}, E),
    "both lists": (
        {
            "special_tokens_map.json": {"additional_special_tokens": ["[E1]"]},
            "tokenizer_config.json": {"additional_special_tokens": ["[E2]"]},
        },
        E,
    ),
    "newer list in both": (
        {
            "special_tokens_map.json": {"extra_special_tokens": ["[E1]", token("[E2]", lstrip=True)]},
            "tokenizer_config.json": {"extra_special_tokens": ["[E3]"]},
        },
        E,
    ),
    "newer and older list": (
        {"tokenizer_config.json": {"extra_special_tokens": ["[E1]"], "additional_special_tokens": ["[E2]"]}},
        E,
    ),
    "newer list empty": (
        {"tokenizer_config.json": {"extra_special_tokens": [], "additional_special_tokens": ["[E2]"]}},
        E,
    ),
    "a table": (
        {"tokenizer_config.json": {"extra_special_tokens": {"image_token": "[E1]"}, "foo_token": "[E2]"}},
        E,
    ),
    "a table and the older list": (
        {
            "tokenizer_config.json": {
                "extra_special_tokens": {"image_token": "[E1]"},
                "additional_special_tokens": ["[E2]"],
            }
        },
        E,
    ),
    "decoder": (
        {
            "tokenizer_config.json": {"added_tokens_decoder": {"49": token("[E1]", special=True)}},
            "added_tokens.json": {"[E2]": 50},
            "special_tokens_map.json": {"additional_special_tokens": ["[E3]"], "cls_token": "a"},
        },
        E,
    ),
    "decoder, with flags": (
        {
            "tokenizer_config.json": {
                "added_tokens_decoder": {
                    "51": token("Zed", normalized=True, single_word=True, special=False),
                    "50": token("[E1]", rstrip=True, special=True),
                    "7": token("c", lstrip=True, special=False),
                }
            }
        },
        [*E, "the zed Zed zeds [E1] cat"],
    ),
    "decoder and list": (
        {
            "tokenizer_config.json": {
                "added_tokens_decoder": {"49": token("[E1]", special=True)},
                "additional_special_tokens": ["[E2]", "[E1]"],
            }
        },
        E,
    ),
    "decoder names a part": (
        {
            "tokenizer_config.json": {
                "added_tokens_decoder": {"49": token("<C>", lstrip=True, normalized=True, special=False)},
                "cls_token": "<C>",
            }
        },
        ["the <C> cat", "the <c> cat"],
    ),
    "parts": (
        {"tokenizer_config.json": {"cls_token": "a", "sep_token": "b", "unk_token": "c", "mask_token": "d"}},
        ["the 漢 a b c d", ("the", "cat")],
    ),
    "a part in both": (
        {
            "special_tokens_map.json": {"cls_token": token("a")},
            "tokenizer_config.json": {"cls_token": "b"},
        },
        ["the cat", ("the", "cat")],
    ),
    "a part that is new": ({"tokenizer_config.json": {"cls_token": "<C>"}}, ["the cat", ("the", "cat")]),
    "parts with their types": (
        {
            "tokenizer_config.json": {
                "cls_token": {"__type": "AddedToken", **token("<C>", normalized=True)},
                "mask_token": {"__type": "AddedToken", **token("<M>", lstrip=True)},
            }
        },
        ["the <M> cat <c>", ("the", "cat")],
    ),
    "bos and eos": ({"tokenizer_config.json": {"bos_token": "<s>", "eos_token": "</s>"}}, ["<s> the cat </s>"]),
    "no pad and no mask": (
        {"vocab.txt": WORDS.replace("[MASK]", "xx").replace("[PAD]", "yy")},
        ["the [MASK] cat [PAD]"],
    ),
    "no ends": ({"vocab.txt": WORDS.replace("[CLS]", "xx").replace("[SEP]", "yy")}, ["the cat", ("the", "cat")]),
    "an extra blank before": (
        {"special_tokens_map.json": {"mask_token": token("[MASK]", lstrip=True)}},
        ["the [MASK] cat"],
    ),
}
for name, (files, texts) in NAMES.items():
    case(name, files, texts)

for key, value, texts in [
    ("do_lower_case", False, ["The Cat thé cat"]),
    ("strip_accents", False, ["The thé"]),
    ("strip_accents", True, ["The thé"]),
    ("tokenize_chinese_chars", False, ["你好 the 你"]),
    ("never_split", ["[E1]"], ["the [E1] cat"]),
    ("do_basic_tokenize", False, ["The cat."]),
    ("model_max_length", 4, ["the cat sat on the mat"]),
]:
    case(f"{key} {json.dumps(value)}", {"tokenizer_config.json": {key: value}}, texts)
case(
    "do_lower_case false, strip_accents true",
    {"tokenizer_config.json": {"do_lower_case": False, "strip_accents": True}},
    ["The thé"],
)

LINES = {
    "a blank last line": (WORDS + "\n", ["the cat"]),
    "three blank last lines": (WORDS + "\n\n\n", ["the cat", ("the", "cat")]),
    "a blank line between": (WORDS + "\n\nnew\n", ["the cat new"]),
    "no last line end": (WORDS.rstrip("\n"), ["好你"]),
    "CRLF": (WORDS.replace("\n", "\r\n").encode(), ["the cat 你"]),
    "CR": (WORDS.replace("\n", "\r").encode(), ["the cat"]),
    "byte-order mark": (b"\xef\xbb\xbf" + WORDS.encode(), ["the cat 你", "the [PAD]"]),
    "byte-order mark and CRLF": (b"\xef\xbb\xbf" + WORDS.replace("\n", "\r\n").encode(), ["the cat 你"]),
    "byte-order mark before an end": (b"\xef\xbb\xbf[CLS]\n" + WORDS.replace("[CLS]", "xx").encode(), ["the cat"]),
    "byte-order mark before the unknown piece": (
        b"\xef\xbb\xbf[UNK]\n" + WORDS.replace("[UNK]", "xx").encode(),
        ["the 漢"],
    ),
    "a piece twice": (WORDS.replace("mat\n", "cat\n"), ["the cat"]),
    "a marker twice": (WORDS + "[CLS]\n", ["the cat"]),
    "blanks beside pieces": (
        WORDS.replace("cat\n", "cat \n")
        .replace("dog\n", "dog\u3000\n")
        .replace("sat\n", " sat\n")
        .replace("mat\n", "mat\u00a0\n"),
        ["the cat dog sat mat"],
    ),
    "a tab and a number": (WORDS.replace("cat\n", "cat\t40\n"), ["the cat"]),
    "a line separator within": (WORDS.replace("cat\n", "ca\u2028t\n"), ["好你 cat"]),
    "UTF-16": (WORDS.encode("utf-16"), ["the cat"]),
    "Latin-1": (WORDS.encode() + b"\xe9\n", ["the cat"]),
}
for name, (words, texts) in LINES.items():
    case(name, {"vocab.txt": words}, texts, group="lines")

T = ["The cat 漢", ("the cat", "a dog")]
for name in [
    "BertTokenizerFast", "DistilBertTokenizer", "ElectraTokenizerFast", "MobileBertTokenizer", "SqueezeBertTokenizer",
    "LayoutLMTokenizer", "LxmertTokenizer", "ConvBertTokenizer", "DPRQuestionEncoderTokenizer", "MPNetTokenizer",
    "PreTrainedTokenizerFast", "KoBertTokenizer",
]:  # fmt: skip
    case(name, {"tokenizer_config.json": {"tokenizer_class": name}}, T, group="class")
for family in ["bert", "distilbert", "electra", "mpnet", "modernbert"]:
    case(f"family {family}", {"config.json": {"model_type": family}}, T, group="class")
case(
    "the settings before the configuration",
    {
        "config.json": {"model_type": "mpnet", "tokenizer_class": "MPNetTokenizer"},
        "tokenizer_config.json": {"tokenizer_class": "BertTokenizer"},
    },
    T,
    group="class",
)
case(
    "MPNet with its markers",
    {
        "config.json": {"model_type": "mpnet"},
        "vocab.txt": "<s>\n<pad>\n</s>\n[UNK]\n" + WORDS + "<mask>\n",
        "special_tokens_map.json": {"mask_token": token("<mask>", lstrip=True)},
    },
    ["the <mask> cat", ("the", "cat")],
    group="class",
)

X = ["the [E1] cat", "the[E1]cat dog", "the [E2] cat"]
for base in ["xlm-roberta", "camembert", "deberta-v2", "albert", "byte-level"]:
    case("added", {"added_tokens.json": {"[E1]": 5000}}, X, base, "pieces")
    case("a list", {"tokenizer_config.json": {"additional_special_tokens": ["[E1]", "[E2]"]}}, X, base, "pieces")
    case("the map's list", {"special_tokens_map.json": {"additional_special_tokens": ["[E1]"]}}, X, base, "pieces")
    case(
        "decoder",
        {"tokenizer_config.json": {"added_tokens_decoder": {"5000": token("[E1]", rstrip=True, special=True)}}},
        X,
        base,
        "pieces",
    )
    mask = {"mask_token": token("[E2]", lstrip=True), "additional_special_tokens": ["[E1]"]}
    case("another mask", {"special_tokens_map.json": mask}, X, base, "pieces")
    case("another end", {"tokenizer_config.json": {"cls_token": "[E1]"}}, X, base, "pieces")

with tempfile.TemporaryDirectory() as folder:
    lay(Path(folder), "bert", {})
    whole = HERE / "text" / "whole"
    whole.mkdir(exist_ok=True)
    AutoTokenizer.from_pretrained(folder)._tokenizer.save(str(whole / "tokenizer.json"), pretty=False)
    (whole / "config.json").write_text(json.dumps({"model_type": "bert"}) + "\n")
for name in ["added_tokens", "the map's list", "both lists", "a table", "decoder, with flags", "an extra blank before"]:
    files, texts = NAMES[name]
    case(name, files, texts, "whole", "whole")
for key, value in [("do_lower_case", False), ("strip_accents", False), ("tokenize_chinese_chars", False)]:
    for class_name in ["BertTokenizer", "PreTrainedTokenizerFast"]:
        files = {"tokenizer_config.json": {key: value, "tokenizer_class": class_name, "mask_token": "[MASK]"}}
        case(f"{class_name} {key}", files, ["The thé 你好 cat"], "whole", "whole")

lines = ",\n".join(json.dumps(made, ensure_ascii=False) for made in CASES)
(HERE / "tokenizers.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
print(len(CASES), "cases")
