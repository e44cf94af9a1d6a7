"""Deterministic embeddings: similar texts get similar vectors, without a model."""

from __future__ import annotations

import base64
import hashlib
import math
import re
import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

_WORD = re.compile(r"\w+")


def hashed_words(text: str) -> list[float]:
    """A bag of words, hashed to 1536 numbers, of length 1.

    Texts that share words have a higher cosine; a text without any word has a vector too.
    """
    vector = [0.0] * 1_536
    for word, count in Counter(_WORD.findall(text.casefold()) or [text]).items():
        digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        position = int.from_bytes(digest[:7], "big") % len(vector)
        vector[position] += (1.0 + math.log(count)) * (1.0 if digest[7] % 2 else -1.0)
    return _unit(vector)


@dataclass(frozen=True)
class EmbeddingRequest:
    """One call of ``/v1/embeddings``.

    Attributes:
        model: The model asked for.
        texts: The texts, one vector each.
        dimensions: The length of vector asked for; None leaves it to the model.
        encoding_format: ``float`` or ``base64``.
        headers: The HTTP headers, names in lower case.
    """

    model: str
    texts: tuple[str, ...]
    dimensions: int | None
    encoding_format: str
    headers: Mapping[str, str]

    @classmethod
    def parse(cls, body: Mapping[str, Any], headers: Mapping[str, str]) -> Self:
        """Read the JSON body of a call."""
        given = body.get("input", "")
        return cls(
            model=str(body.get("model", "")),
            texts=(given,) if isinstance(given, str) else tuple(map(str, given)),
            dimensions=body.get("dimensions"),
            encoding_format=body.get("encoding_format") or "float",
            headers=headers,
        )

    def answer(self, vectors: Sequence[list[float]]) -> dict[str, Any]:
        """The JSON answer with these vectors, one per text."""
        tokens = sum(len(text.split()) for text in self.texts)
        data = [
            {"object": "embedding", "index": index, "embedding": self._encoded(vector)}
            for index, vector in enumerate(vectors)
        ]
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return {"object": "list", "data": data, "model": self.model, "usage": usage}

    def _encoded(self, vector: list[float]) -> list[float] | str:
        fitted = vector if self.dimensions is None else _fitted(vector, self.dimensions)
        if self.encoding_format == "base64":
            return base64.b64encode(struct.pack(f"<{len(fitted)}f", *fitted)).decode()
        return fitted


def _fitted(vector: list[float], dimensions: int) -> list[float]:
    """The vector folded or padded to a length, so that similar texts stay similar."""
    fitted = [0.0] * dimensions
    for position, value in enumerate(vector):
        fitted[position % dimensions] += value
    return _unit(fitted)


def _unit(vector: list[float]) -> list[float]:
    """The vector at length 1; one without a direction points along its first axis."""
    length = math.hypot(*vector)
    if not length:
        return [1.0, *([0.0] * (len(vector) - 1))]
    return [value / length for value in vector]
