"""A cross-encoder in a folder, small enough to know its numbers: written byte by byte as ONNX.

Its logit for a pair is the sum of the weights of the words in the passage.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

_FLOAT, _INT64 = 1, 7
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def write_cross_encoder(
    folder: Path,
    weights: Mapping[str, float | Sequence[float]],
    *,
    inputs: Sequence[str] = _INPUTS,
    most_tokens: int | None = None,
    file: str = "model.onnx",
) -> None:
    """Write ``model.onnx``, ``tokenizer.json`` and, where tokens are limited, ``config.json``.

    Args:
        folder: Made where it is missing.
        weights: Of each word, one number or several: as many as the model gives for a pair.
        inputs: What the model asks for; without ``token_type_ids`` the query counts as well.
        most_tokens: What ``config.json`` says.
        file: The model's place in the folder.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *weights]
    width = np.atleast_1d(next(iter(weights.values()))).size
    table = np.zeros((len(words), width), np.float32)
    for word, weight in weights.items():
        table[words.index(word)] = weight
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_model(table, inputs))
    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    if most_tokens is not None:
        settings = {"max_position_embeddings": most_tokens, "pad_token_id": 0}
        (folder / "config.json").write_text(json.dumps(settings))


def _model(table: np.ndarray, inputs: Sequence[str]) -> bytes:
    nodes = [_node("Gather", ["table", "input_ids"], "found")]
    last = "found"
    for name in inputs:
        if name == "input_ids":
            continue
        nodes += [
            _node("Cast", [name], f"{name}_float", _attribute("to", _FLOAT)),
            _node("Unsqueeze", [f"{name}_float"], f"{name}_wide", _attribute("axes", [2])),
            _node("Mul", [last, f"{name}_wide"], f"{name}_kept"),
        ]
        last = f"{name}_kept"
    summed = _attribute("axes", [1]) + _attribute("keepdims", 0)
    nodes.append(_node("ReduceSum", [last], "logits", summed))
    dims = b"".join(_number(1, size) for size in table.shape)
    initializer = dims + _number(2, _FLOAT) + _bytes(8, b"table") + _bytes(9, table.tobytes())
    graph = (
        b"".join(_bytes(1, node) for node in nodes)
        + _bytes(2, b"graph")
        + _bytes(5, initializer)
        + b"".join(_bytes(11, _value(name, _INT64, ["pairs", "tokens"])) for name in inputs)
        + _bytes(12, _value("logits", _FLOAT, ["pairs", "width"]))
    )
    return _number(1, 6) + _bytes(7, graph) + _bytes(8, _number(2, 11))


def _node(kind: str, inputs: Sequence[str], output: str, attributes: bytes = b"") -> bytes:
    named = b"".join(_bytes(1, name.encode()) for name in inputs)
    return named + _bytes(2, output.encode()) + _bytes(4, kind.encode()) + attributes


def _attribute(name: str, value: int | list[int]) -> bytes:
    if isinstance(value, int):
        told = _number(3, value) + _number(20, 2)
    else:
        told = b"".join(_number(8, each) for each in value) + _number(20, 7)
    return _bytes(5, _bytes(1, name.encode()) + told)


def _value(name: str, kind: int, dims: Sequence[str]) -> bytes:
    shape = b"".join(_bytes(1, _bytes(2, dim.encode())) for dim in dims)
    return _bytes(1, name.encode()) + _bytes(2, _bytes(1, _number(1, kind) + _bytes(2, shape)))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
