"""Embedding services, called through Semantic Kernel: batched, bounded, retried, timed out."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import sys
import warnings
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holodeck_backend_claude.concurrency.threads import in_thread
from holodeck_backend_claude.concurrency.together import together
from holodeck_backend_claude.redaction import mask_secrets
from holodeck_backend_claude.retrieval.embedding.models import ServiceModel
from holodeck_backend_claude.retrieval.errors import EmbeddingError

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from semantic_kernel.connectors.ai.open_ai import (
        AzureTextEmbedding,
        OpenAIEmbeddingPromptExecutionSettings,
        OpenAITextEmbedding,
    )

    EmbeddingService: TypeAlias = OpenAITextEmbedding | AzureTextEmbedding

_SEMANTIC_KERNEL = "semantic_kernel.connectors.ai.open_ai"

MOST_TEXTS = 64
MOST_CHARS = 400_000  # of one request; providers limit its tokens too
REQUESTS_AT_ONCE = 4
_RETRIES = 5  # after 408, 409, 429 and 5xx, and where there was no answer; as the server asks
_SECONDS_PER_REQUEST = 60.0
_REJECTED_INPUT = frozenset({400, 413, 422})


class ServiceEmbedder:
    """One embedding model of a service; it connects at the first call.

    Args:
        model: The model and how to reach it.
        retries: How often a request that the service refused for its own reasons is sent again.
        timeout: Seconds one request may take.
    """

    def __init__(
        self,
        model: ServiceModel,
        *,
        retries: int = _RETRIES,
        timeout: float = _SECONDS_PER_REQUEST,
    ) -> None:
        self._model = model
        self._retries = retries
        self._timeout = timeout
        self._connection: _Connection | None = None

    @property
    def fingerprint(self) -> str:
        """Provider, address, model and length of the vectors."""
        return self._model.fingerprint

    @property
    def dimensions(self) -> int | None:
        """The length of vectors that agent.yaml asks for."""
        return self._model.dimensions

    async def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of passages, of shape ``(len(texts), dimensions)``."""
        batches = list(_batches(texts))
        async with self._connected() as connection:
            answers = await together(connection.embed(batch) for batch in batches)
        rows = [row for answer in answers for row in answer]
        if len({len(row) for row in rows}) > 1:
            raise EmbeddingError(f"{self._model.provider} sent embeddings of several lengths")
        return np.array(rows, np.float32).reshape(len(rows), -1)

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a query, of shape ``(dimensions,)``."""
        vectors = await self.embed_documents([text])
        vector: NDArray[np.float32] = vectors[0]
        return vector

    async def close(self) -> None:
        """Drop the connections, once no call needs them; a later call opens new ones."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close_when_idle()

    @contextlib.asynccontextmanager
    async def _connected(self) -> AsyncIterator[_Connection]:
        if _SEMANTIC_KERNEL not in sys.modules:  # the import takes more than a second
            await in_thread(_import_semantic_kernel)
        loop = asyncio.get_running_loop()
        if self._connection is None or self._connection.loop is not loop:
            self._connection = _Connection(self._model, self._retries, self._timeout)
        async with self._connection.in_use() as connection:
            yield connection


class _Connection:
    """A client of the service, which belongs to the event loop it was made in."""

    def __init__(self, model: ServiceModel, retries: int, timeout: float) -> None:
        self.loop = asyncio.get_running_loop()
        self._model = model
        self._slots = asyncio.Semaphore(REQUESTS_AT_ONCE)
        self._calls = 0
        self._is_over = False
        try:
            self._client, self._service, self._request = _open(model, retries, timeout)
        except Exception as cause:  # Semantic Kernel checks settings of its own
            raise _failure(model, cause) from cause

    @contextlib.asynccontextmanager
    async def in_use(self) -> AsyncIterator[_Connection]:
        """Keep the client open meanwhile."""
        self._calls += 1
        try:
            yield self
        finally:
            self._calls -= 1
            if self._is_over:
                await self.close_when_idle()

    async def close_when_idle(self) -> None:
        """Close now, or after the last call that runs."""
        self._is_over = True
        if not self._calls and self.loop is asyncio.get_running_loop():
            await self._client.close()

    async def embed(self, texts: list[str]) -> list[list[float]]:
        """The vectors of one request, in the order of the texts."""
        async with self._slots:
            try:
                rows: list[list[float]] = await self._service.generate_raw_embeddings(
                    texts, self._request.model_copy()
                )
            except Exception as cause:  # Semantic Kernel wraps whatever its client raises
                raise _failure(self._model, cause) from cause
        if len(rows) != len(texts):
            raise EmbeddingError(
                f"{self._model.provider} sent {len(rows)} embeddings for {len(texts)} texts"
            )
        return rows


def _open(
    model: ServiceModel, retries: int, timeout: float
) -> tuple[AsyncOpenAI, EmbeddingService, OpenAIEmbeddingPromptExecutionSettings]:
    """The client, the service around it, and what every request says."""
    from openai import AsyncAzureOpenAI, AsyncOpenAI
    from semantic_kernel.connectors.ai.open_ai import (
        AzureTextEmbedding,
        OpenAIEmbeddingPromptExecutionSettings,
        OpenAITextEmbedding,
    )

    request = OpenAIEmbeddingPromptExecutionSettings(
        ai_model_id=model.name, dimensions=model.dimensions, encoding_format="float"
    )
    limits: dict[str, Any] = {
        "max_retries": retries,
        "timeout": timeout,
        "default_headers": model.connection.headers,
    }
    key, address = model.connection.api_key, model.connection.endpoint
    version = model.connection.api_version
    if version is None:
        client = AsyncOpenAI(api_key=key, base_url=address, **limits)
        service: EmbeddingService = OpenAITextEmbedding(
            model.name, api_key=key, async_client=client
        )
        return client, service, request
    azure = AsyncAzureOpenAI(api_key=key, azure_endpoint=address, api_version=version, **limits)
    service = AzureTextEmbedding(
        deployment_name=model.name, api_key=key, api_version=version,
        async_client=azure,
    )  # fmt: skip
    return azure, service, request


def _import_semantic_kernel() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on import, about its own dependencies
        importlib.import_module(_SEMANTIC_KERNEL)


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    chars = 0
    for text in texts:
        if batch and (len(batch) == MOST_TEXTS or chars + len(text) > MOST_CHARS):
            yield batch
            batch, chars = [], 0
        batch.append(text)
        chars += len(text)
    if batch:
        yield batch


def _failure(model: ServiceModel, error: BaseException) -> EmbeddingError:
    """What went wrong, from the innermost error that tells."""
    while type(error).__module__.startswith("semantic_kernel") and error.__cause__ is not None:
        error = error.__cause__
    status = getattr(error, "status_code", None)
    told = mask_secrets(str(error)) or type(error).__name__
    hint = {401: "; check the key", 403: "; check the key", 404: "; check name and endpoint"}
    return EmbeddingError(
        f"{model.provider} at {model.connection.endpoint}, "
        f"model {model.name!r}: {told}"
        f"{hint.get(status or 0, '')}",
        rejected_input=status in _REJECTED_INPUT,
    )
