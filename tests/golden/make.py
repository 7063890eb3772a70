"""Makes the references in this folder with Hugging Face `transformers` (eager attention, float32).

In a throw-away virtual environment, from the root of the clone:

    pip install torch==2.13.0 transformers==5.24.0 safetensors==0.8.0 numpy==2.4.6 sentencepiece
    python tests/golden/make.py PATH_OF_all-MiniLM-L6-v2

writes `tiny-bert/` (a random model of a few kB), `tiny-bert.safetensors`, `minilm.safetensors`, `tasks/` and
`families/`: small random models with task heads and of every family, each with its reference beside its weights; and
`files/`: one of them in every kind of file. `text/` has small tokenizers. In a reference,
CASE/attention is [layer, head, query, key]; where that would be large, CASE/attention_sample holds every
STRIDE-th number of it in row-major order, and likewise for the hidden states.
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

PINNED = {"torch": "2.13.0", "transformers": "5.24.0", "safetensors": "0.8.0", "numpy": "2.4.6"}
for package, wanted in PINNED.items():
    found = version(package).split("+")[0]
    if found != wanted:
        sys.exit(f"{package} is {found}, but the references are made with {wanted}")

import numpy as np
import torch
from safetensors.numpy import save_file
from transformers import (
    AutoTokenizer,
    BertConfig,
    BertForMaskedLM,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
)

HERE = Path(__file__).parent
WHOLE = 40_000  # numbers; a larger array is sampled
STRIDE = 997  # a prime, so that a sample meets every row and column


def store(out, name, array):
    array = np.ascontiguousarray(array)
    if array.size <= WHOLE:
        out[name] = array
    else:
        out[f"{name}_sample"] = np.ascontiguousarray(array.reshape(-1)[::STRIDE])


@torch.no_grad()
def reference(out, case, model, ids, types):
    result = model(
        input_ids=torch.tensor([ids]),
        token_type_ids=torch.tensor([types]),
        output_attentions=True,
        output_hidden_states=True,
    )
    out[f"{case}/input_ids"] = np.array(ids, dtype=np.int64)
    out[f"{case}/token_type_ids"] = np.array(types, dtype=np.int64)
    store(out, f"{case}/attention", torch.stack(result.attentions)[:, 0].numpy())
    store(out, f"{case}/hidden", torch.stack(result.hidden_states)[:, 0].numpy())
    out[f"{case}/pooler_output"] = result.pooler_output[0].numpy()
    mean = result.last_hidden_state[0].mean(0)
    out[f"{case}/mean_normalized"] = torch.nn.functional.normalize(mean, dim=0).numpy()


def tiny():
    torch.manual_seed(20261129)
    folder = HERE / "tiny-bert"
    folder.mkdir(exist_ok=True)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz.,!?'", "##s", "##ing", "##ed"]
    words += ["the", "cat", "dog", "sat", "on", "mat", "walk", "不", "好", "你"]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": True}) + "\n")
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=24,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=40,
        hidden_act="gelu_new",
        max_position_embeddings=48,
        type_vocab_size=2,
        layer_norm_eps=1e-3,  # not the usual one, so that a hard-coded one shows
        initializer_range=0.5,  # sharp attention
    )
    config._attn_implementation = "eager"
    model = BertModel(config).eval()
    for parameter in model.parameters():  # biases start at 0, which would hide a forgotten one
        parameter.data.add_(0.1 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    out = {}
    reference(out, "single", model, [2, 36, 37, 40, 41, 36, 42, 3], [0] * 8)
    reference(out, "pair", model, [2, 36, 38, 33, 3, 39, 41, 35, 3], [0] * 5 + [1] * 4)
    reference(out, "one", model, [7], [0])
    reference(out, "full", model, [2] + [5 + i * 7 % 40 for i in range(46)] + [3], [0] * 48)
    save_file(out, HERE / "tiny-bert.safetensors")


def shaken(model):
    """Biases start at 0 and layer norms at 1, which would hide a forgotten one."""
    for parameter in model.parameters():
        parameter.data.add_(0.1 * torch.randn_like(parameter))
    return model.eval()


@torch.no_grad()
def tasks():
    words = (HERE / "tiny-bert" / "vocab.txt").read_text(encoding="utf-8")
    feelings = {0: "sad", 1: "so-so", 2: "glad"}
    kinds = {0: "O", 1: "B-animal", 2: "I-animal", 3: "B-place"}
    models = {
        "pretraining": (BertForPreTraining, {}),
        "masked-lm-untied": (BertForMaskedLM, {"tie_word_embeddings": False}),
        "sequence": (BertForSequenceClassification, {"id2label": feelings}),
        "regression": (BertForSequenceClassification, {"num_labels": 1}),
        "token": (BertForTokenClassification, {"id2label": kinds}),
        "question": (BertForQuestionAnswering, {}),
    }
    for number, (name, (kind, more)) in enumerate(models.items()):
        torch.manual_seed(20261130 + number)
        folder = HERE / "tasks" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "vocab.txt").write_text(words, encoding="utf-8")
        (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": True}) + "\n")
        config = BertConfig(
            vocab_size=len(words.split("\n")) - 1,
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=24,
            max_position_embeddings=32,
            type_vocab_size=2,
            initializer_range=0.5,
            **more,
        )
        config._attn_implementation = "eager"
        model = shaken(kind(config))
        model.save_pretrained(folder)
        ids, types = [2, 36, 4, 39, 3, 37, 33, 41, 3], [0] * 5 + [1] * 4
        result = model(
            input_ids=torch.tensor([ids]), token_type_ids=torch.tensor([types]), output_attentions=True
        )
        out = {"input_ids": np.array(ids), "token_type_ids": np.array(types)}
        out["attention"] = torch.stack(result.attentions)[:, 0].numpy()
        if name == "pretraining":
            out["logits"] = result.prediction_logits[0].numpy()
            out["logits_next-sentence"] = result.seq_relationship_logits[0].numpy()
        elif name == "question":
            out["logits"] = torch.stack([result.start_logits[0], result.end_logits[0]], -1).numpy()
        else:
            out["logits"] = result.logits[0].numpy()
        save_file({key: np.ascontiguousarray(value) for key, value in out.items()}, folder / "reference.safetensors")


def files():
    """The sequence classifier of `tasks/` in every kind of file."""
    from safetensors.torch import load_file
    from safetensors.torch import save_file as save_tensors

    source = HERE / "tasks" / "sequence"
    weights = load_file(source / "model.safetensors")
    half = dict(list(weights.items())[: len(weights) // 2])
    rest = {name: tensor for name, tensor in weights.items() if name not in half}

    def folder(name):
        made = HERE / "files" / name
        made.mkdir(parents=True, exist_ok=True)
        for file in ["config.json", "vocab.txt", "tokenizer_config.json"]:
            (made / file).write_bytes((source / file).read_bytes())
        return made

    def index(made, ending, first, second):
        shards = {name: first for name in half} | {name: second for name in rest}
        (made / f"{ending}.index.json").write_text(json.dumps({"metadata": {}, "weight_map": shards}) + "\n")

    torch.save(weights, folder("zip") / "pytorch_model.bin")
    torch.save(weights, folder("legacy") / "pytorch_model.bin", _use_new_zipfile_serialization=False)
    # As a training script might: parameters, a tensor that is a view with other strides, and what is no tensor.
    odd = {name: torch.nn.Parameter(tensor) for name, tensor in weights.items()}
    name = "classifier.weight"
    odd[name] = weights[name].t().contiguous().t()
    torch.save({"epoch": 3, "lr": 0.1, "state_dict": odd}, folder("state-dict") / "pytorch_model.bin")
    for kind in ["float16", "bfloat16"]:
        cast = {name: tensor.to(getattr(torch, kind)) for name, tensor in weights.items()}
        torch.save(cast, folder(f"zip-{kind}") / "pytorch_model.bin")
    made = folder("shards")
    save_tensors(half, made / "model-00001-of-00002.safetensors", metadata={"format": "pt"})
    save_tensors(rest, made / "model-00002-of-00002.safetensors", metadata={"format": "pt"})
    index(made, "model.safetensors", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")
    made = folder("bin-shards")
    torch.save(half, made / "pytorch_model-00001-of-00002.bin")
    torch.save(rest, made / "pytorch_model-00002-of-00002.bin")
    index(made, "pytorch_model.bin", "pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin")
    # Names as they were in 2019, with a buffer and a weight that nothing uses.
    old = {name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): tensor
           for name, tensor in weights.items()}  # fmt: skip
    old["bert.embeddings.position_ids"] = torch.arange(32).unsqueeze(0)
    old["dropped.weight"] = torch.zeros(3)
    torch.save(old, folder("old-names") / "pytorch_model.bin", _use_new_zipfile_serialization=False)


TRAINING = [
    "the cat sat on the mat", "a dog walks in the park", "the cats and dogs are walking", "naïve café, isn't it?",
    "你好，世界", "the dog didn't sit", "cats sit, dogs walk", "on a mat in the park the cat is sitting",
] * 4  # fmt: skip
NUMBERS = ["in 1985, the cat sat in 1985, in 1985,", '2,000, "mats" and 2,000, dogs'] * 8
SPELLED = ["the cat sat.", "Dogs didn't walk!", " two  blanks", "naïve 你好 👩‍👩‍👧", "", "the<mask> sat", "a\tb\nc"]


def text():
    """Small tokenizers in the older kinds of file, with what `transformers` makes of some texts."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import RobertaTokenizerFast

    folder = HERE / "text" / "byte-level"
    folder.mkdir(parents=True, exist_ok=True)
    trained = ByteLevelBPETokenizer()
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trained.train_from_iterator(TRAINING, vocab_size=340, min_frequency=2, special_tokens=specials)
    trained.save_model(str(folder))
    tokenizer = RobertaTokenizerFast(str(folder / "vocab.json"), str(folder / "merges.txt"))
    encoded(folder, tokenizer)
    sentence_pieces()


def sentence_pieces():
    """The reference is SentencePiece's own."""
    import sentencepiece

    for name, kind, rule, specials in [
        ("xlm-roberta", "sentencepiece.bpe.model", "nmt_nfkc", {}),
        ("deberta-v2", "spm.model", "identity", dict(
            pad_id=0, bos_id=1, eos_id=2, unk_id=3, pad_piece="[PAD]", bos_piece="[CLS]", eos_piece="[SEP]",
            unk_piece="[UNK]",
        )),
    ]:  # fmt: skip
        folder = HERE / "text" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(json.dumps({"model_type": name}) + "\n")
        with open(folder / kind, "wb") as file:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(TRAINING), model_writer=file, vocab_size=46, model_type="unigram",
                normalization_rule_name=rule,
                character_coverage=1.0, minloglevel=2, **specials,
            )  # fmt: skip
        model = sentencepiece.SentencePieceProcessor(str(folder / kind))
        texts = [text for text in SPELLED if "mask" not in text]
        reference = [{"a": text, "pieces": model.encode(text, out_type=str), "ids": model.encode(text)} for text in texts]
        (folder / "reference.json").write_text(json.dumps(reference, ensure_ascii=False, indent=1) + "\n")
    named_pieces()


def named_pieces():
    """ALBERT and CamemBERT change what SentencePiece gives, so that the reference is `transformers`."""
    import sentencepiece
    from transformers import AlbertTokenizer, CamembertTokenizer

    for name, kind, reader, specials in [
        ("albert", "spiece.model", AlbertTokenizer, dict(
            pad_id=0, unk_id=1, bos_id=-1, eos_id=-1, control_symbols="[CLS],[SEP],[MASK]", pad_piece="<pad>",
        )),
        ("camembert", "sentencepiece.bpe.model", CamembertTokenizer, {}),
    ]:  # fmt: skip
        folder = HERE / "text" / name
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / kind, "wb") as file:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(TRAINING + NUMBERS), model_writer=file, vocab_size=62, model_type="unigram", hard_vocab_limit=False,
                normalization_rule_name="identity", character_coverage=1.0, minloglevel=2, **specials,
            )  # fmt: skip
        (folder / "config.json").write_text(json.dumps({"model_type": name}) + "\n")
        encoded(folder, reader.from_pretrained(folder), SPELLED + ["in ``the'' CAT", "sat  on\t2,000, mats"])


def encoded(folder, tokenizer, texts=SPELLED):
    reference = []
    for a, b in [(text, None) for text in texts] + [(SPELLED[0], SPELLED[1])]:
        ids = tokenizer(a, b)["input_ids"]
        reference.append({"a": a, "b": b, "ids": ids, "pieces": tokenizer.convert_ids_to_tokens(ids)})
    (folder / "reference.json").write_text(json.dumps(reference, ensure_ascii=False, indent=1) + "\n")


@torch.no_grad()
def families():
    """Small random models of every family, long enough for relative positions to share buckets."""
    from transformers import AutoConfig, AutoModelForMaskedLM, AutoModelForSequenceClassification
    from transformers import AutoModelForPreTraining, AutoModelForQuestionAnswering, AutoModelForTokenClassification

    usual = dict(
        vocab_size=30, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=20,
        max_position_embeddings=44, initializer_range=0.3,
    )  # fmt: skip
    distil = dict(
        vocab_size=30, dim=16, n_layers=2, n_heads=2, hidden_dim=20, max_position_embeddings=44, initializer_range=0.3
    )  # fmt: skip
    modern = dict(usual, num_hidden_layers=3, layer_types=None, global_attn_every_n_layers=2, local_attention=8, pad_token_id=0)
    modern |= dict(bos_token_id=2, eos_token_id=3, cls_token_id=2, sep_token_id=3)
    v3 = dict(
        usual, type_vocab_size=0, relative_attention=True, position_buckets=8, max_relative_positions=-1,
        norm_rel_ebd="layer_norm", share_att_key=True, pos_att_type="p2c|c2p", position_biased_input=False,
    )  # fmt: skip
    v2 = dict(
        usual, type_vocab_size=2, relative_attention=True, max_relative_positions=12, pos_att_type=["c2p", "p2c"],
        share_att_key=False, conv_kernel_size=3, conv_act="gelu",
    )  # fmt: skip
    three = {"id2label": {0: "a", 1: "b", 2: "c"}}
    masked, sequence, token = AutoModelForMaskedLM, AutoModelForSequenceClassification, AutoModelForTokenClassification
    models = {
        "roberta-masked-lm": ("roberta", masked, usual | {"type_vocab_size": 1}),
        "roberta-sequence": ("roberta", sequence, usual | {"type_vocab_size": 1} | three),
        "xlm-roberta-token": ("xlm-roberta", token, usual | {"type_vocab_size": 1} | three),
        "camembert-question": ("camembert", AutoModelForQuestionAnswering, usual | {"type_vocab_size": 1}),
        "distilbert-masked-lm": ("distilbert", masked, distil),
        "distilbert-sequence": ("distilbert", sequence, distil | three),
        "electra-masked-lm": ("electra", masked, usual | {"embedding_size": 12}),
        "electra-sequence": ("electra", sequence, usual | {"embedding_size": 16} | three),
        "albert-pretraining": ("albert", AutoModelForPreTraining, usual | {"embedding_size": 12, "num_hidden_groups": 2, "num_hidden_layers": 3}),
        "albert-sequence": ("albert", sequence, usual | {"embedding_size": 16, "inner_group_num": 2} | three),
        "mpnet-masked-lm": ("mpnet", masked, usual),
        "mpnet-sequence": ("mpnet", sequence, usual | three),
        "deberta-v3-masked-lm": ("deberta-v2", masked, v3),
        "deberta-v3-sequence": ("deberta-v2", sequence, v3 | three),
        "deberta-v2-token": ("deberta-v2", token, v2 | three),
        "modernbert-masked-lm": ("modernbert", masked, modern),
        "modernbert-sequence": ("modernbert", sequence, modern | {"classifier_pooling": "mean"} | three),
        "modernbert-token": ("modernbert", token, modern | {"norm_bias": True, "attention_bias": True} | three),
    }
    for number, (name, (kind, head, settings)) in enumerate(models.items()):
        torch.manual_seed(20261201 + number)
        folder = HERE / "families" / name
        folder.mkdir(parents=True, exist_ok=True)
        config = AutoConfig.for_model(kind, **settings)
        model = shaken(head.from_config(config, attn_implementation="eager"))
        model.save_pretrained(folder)
        pairs = getattr(config, "type_vocab_size", 0) == 2
        # The padding id of RoBERTa, 1, stands in the middle: it is not counted.
        ids = [2, *(4 + i * 7 % 26 for i in range(9)), 1, *(4 + i * 5 % 26 for i in range(10)), 3]
        types = [0] * 12 + [1 if pairs else 0] * (len(ids) - 12)
        given = {"input_ids": torch.tensor([ids]), "attention_mask": torch.ones(1, len(ids))}
        if pairs:
            given["token_type_ids"] = torch.tensor([types])
        result = model(**given, output_attentions=True, output_hidden_states=True)
        out = {"input_ids": np.array(ids), "token_type_ids": np.array(types)}
        out["attention"] = torch.stack(result.attentions)[:, 0].numpy()
        base = model.base_model(**given)
        out["last_hidden_state"] = base.last_hidden_state[0].numpy()
        if getattr(base, "pooler_output", None) is not None:
            out["pooler_output"] = base.pooler_output[0].numpy()
        if kind == "albert" and "pretraining" in name:
            out["logits"] = result.prediction_logits[0].numpy()
            out["logits_next-sentence"] = result.sop_logits[0].numpy()
        elif "question" in name:
            out["logits"] = torch.stack([result.start_logits[0], result.end_logits[0]], -1).numpy()
        else:
            out["logits"] = result.logits[0].numpy()
        out = {key: np.ascontiguousarray(value) for key, value in out.items()}
        parameters = sum(parameter.numel() for parameter in model.parameters())
        save_file(out, folder / "reference.safetensors", metadata={"parameters": str(parameters)})


def minilm(path):
    tokenizer = AutoTokenizer.from_pretrained(path)
    model = BertModel.from_pretrained(path, attn_implementation="eager").eval()
    long = " ".join(
        f"Sentence number {i} says that the animal didn't cross the street because it was too tired, wasn't it?"
        for i in range(40)
    )
    texts = {
        "single": ("The animal didn't cross the street because it was too tired.", None),
        "pair": ("A man is eating food.", "Somebody eats a naïve pasta 🍝!"),
        "one": ("", None),
        "odd": ("Ünïcödé\tTabs\nand  \u0000NUL e\u0301 👩‍👩‍👧 שלום 你好", None),
        "full": (long, None),
    }
    out = {}
    for case, (a, b) in texts.items():
        encoded = tokenizer(a, b, truncation=True, max_length=512)
        reference(out, case, model, encoded["input_ids"], encoded["token_type_ids"])
    reference(out, "one_token", model, [7592], [0])
    save_file(out, HERE / "minilm.safetensors", metadata={"texts": json.dumps(texts), "stride": str(STRIDE)})


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    tiny()
    tasks()
    text()
    files()
    families()
    minilm(sys.argv[1])
