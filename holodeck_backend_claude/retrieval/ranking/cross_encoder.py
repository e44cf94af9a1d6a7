"""``reranker_model: {provider: local}``: a cross-encoder in a folder, as ONNX, in this process."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holodeck_backend_claude.concurrency.threads import in_thread
from holodeck_backend_claude.contract import ConfigError, Reranker
from holodeck_backend_claude.retrieval.embedding.onnx import load_session

if TYPE_CHECKING:
    from holodeck_backend_claude.config import RerankerConfig
    from holodeck_backend_claude.hookspecs import ToolContext

INSTALL = 'pip install "holodeck-backend-claude[rerank]"'
_MODELS = ("model.onnx", "onnx/model.onnx")
_COLUMNS = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
"""What a model may ask for, and what the tokenizer calls it."""

_MOST_TOKENS = 512
_PAIRS_PER_RUN = 8

_Floats: TypeAlias = NDArray[np.float32]


@asynccontextmanager
async def open_cross_encoder(
    config: RerankerConfig, context: ToolContext
) -> AsyncIterator[Reranker]:
    """The cross-encoder in the folder ``name``; a relative one starts at agent.yaml's.

    Raises:
        ConfigError: There is no such model, it cannot be loaded, or the extra is missing.
    """
    if config.name is None:
        raise ConfigError(
            "reranker_model: provider 'local' needs 'name': a folder with model.onnx and "
            "tokenizer.json of a cross-encoder"
        )
    yield await in_thread(_opened, context.base_dir, config.name)


def _opened(base_dir: Path, name: str) -> CrossEncoder:
    return CrossEncoder(base_dir / Path(name).expanduser())


class CrossEncoder:
    """Reads query and passage together, and says how well they fit.

    The score is the sigmoid of the model's one logit, or of the difference of its two (the second
    stands for "relevant").

    Args:
        folder: Has ``model.onnx`` (or ``onnx/model.onnx``) and ``tokenizer.json``; a
            ``config.json`` tells how many tokens it reads, otherwise 512.

    Raises:
        ConfigError: What is missing, or why it cannot be loaded.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        model = next((folder / name for name in _MODELS if (folder / name).is_file()), None)
        if model is None or not (folder / "tokenizer.json").is_file():
            raise ConfigError(
                f"reranker_model: there is no cross-encoder in {folder}: it needs model.onnx "
                "(or onnx/model.onnx) and tokenizer.json"
            )
        try:
            settings = _settings(folder)
            self._pad_id = int(settings.get("pad_token_id") or 0)
            self._tokenizer = _tokenizer(folder, settings)
            self._session = load_session(model)
        except ImportError as cause:
            raise ConfigError(f"reranker_model: {cause}; {INSTALL}") from cause
        except Exception as cause:
            raise ConfigError(f"reranker_model: {folder} cannot be loaded: {cause}") from cause
        self._inputs = {
            each.name: np.int32 if "int32" in each.type else np.int64
            for each in self._session.get_inputs()
        }
        if unknown := self._inputs.keys() - _COLUMNS.keys():
            raise ConfigError(
                f"reranker_model: the model in {folder} asks for {', '.join(sorted(unknown))}, "
                f"and a cross-encoder for {', '.join(_COLUMNS)}"
            )
        self._turn = threading.Lock()  # a run uses all cores by itself

    async def scores(self, query: str, passages: Sequence[str]) -> Sequence[float]:
        """How well each passage answers the query, from 0.0 to 1.0."""
        return await in_thread(self._scores, query, list(passages))

    def _scores(self, query: str, passages: list[str]) -> list[float]:
        pairs = self._tokenizer.encode_batch([(query, passage) for passage in passages])
        by_length = sorted(range(len(pairs)), key=lambda at: len(pairs[at].ids))
        scores = [0.0] * len(pairs)
        for start in range(0, len(by_length), _PAIRS_PER_RUN):
            batch = by_length[start : start + _PAIRS_PER_RUN]
            with self._turn:
                logits = self._run([pairs[at] for at in batch])
            for at, logit in zip(batch, logits.tolist(), strict=True):
                scores[at] = float(1.0 / (1.0 + np.exp(-logit)))
        return scores

    def _run(self, pairs: list[Any]) -> _Floats:
        """One logit for each pair."""
        size = max(len(pair.ids) for pair in pairs)
        for pair in pairs:
            pair.pad(size, pad_id=self._pad_id)
        fed = {
            name: np.array([getattr(pair, _COLUMNS[name]) for pair in pairs], kind)
            for name, kind in self._inputs.items()
        }
        logits: _Floats = np.asarray(self._session.run(None, fed)[0], np.float64)
        logits = logits.reshape(len(pairs), -1)
        if logits.shape[1] > 2:
            raise ValueError(
                f"the model in {self._folder} gives {logits.shape[1]} numbers for a pair, and a "
                "cross-encoder one or two"
            )
        return logits[:, -1] - logits[:, 0] if logits.shape[1] == 2 else logits[:, 0]


def _tokenizer(folder: Path, settings: Mapping[str, Any]) -> Any:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    most = min(_MOST_TOKENS, int(settings.get("max_position_embeddings", _MOST_TOKENS)))
    tokenizer.enable_truncation(most)
    tokenizer.no_padding()
    return tokenizer


def _settings(folder: Path) -> dict[str, Any]:
    file = folder / "config.json"
    read: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return read
