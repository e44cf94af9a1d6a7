"""Embedding services, called through Semantic Kernel: batched, bounded, retried, timed out."""

from __future__ import annotations

import asyncio
import contextlib
import warnings
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from holodeck_backend_claude.retrieval.errors import EmbeddingError
from holodeck_backend_claude.retrieval.providers import ServiceSettings

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from semantic_kernel.connectors.ai.open_ai import (
        AzureTextEmbedding,
        OpenAIEmbeddingPromptExecutionSettings,
        OpenAITextEmbedding,
    )

MOST_TEXTS = 64
MOST_CHARS = 400_000  # of one request; providers limit its tokens too
REQUESTS_AT_ONCE = 4
_RETRIES = 5  # after 408, 409, 429 and 5xx, and where there was no answer; as the server asks
_SECONDS_PER_REQUEST = 60.0
_REJECTED_INPUT = frozenset({400, 413, 422})


class ServiceEmbedder:
    """One embedding model of a service; it connects at the first call.

    Args:
        settings: The model and how to reach it.
        retries: How often a request that the service refused for its own reasons is sent again.
        timeout: Seconds one request may take.
    """

    def __init__(
        self,
        settings: ServiceSettings,
        *,
        retries: int = _RETRIES,
        timeout: float = _SECONDS_PER_REQUEST,
    ) -> None:
        self._settings = settings
        self._retries = retries
        self._timeout = timeout
        self._connection: _Connection | None = None

    @property
    def fingerprint(self) -> str:
        """Provider, address, model and length of the vectors."""
        return self._settings.fingerprint

    @property
    def dimensions(self) -> int | None:
        """The length of vectors that agent.yaml asks for."""
        return self._settings.dimensions

    async def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of passages, of shape ``(len(texts), dimensions)``."""
        batches = list(_batches(texts))
        async with self._connected() as connection:
            answers = await _gather([connection.embed(batch) for batch in batches])
        rows = [row for answer in answers for row in answer]
        if len({len(row) for row in rows}) > 1:
            raise EmbeddingError(f"{self._settings.provider} sent embeddings of several lengths")
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
        loop = asyncio.get_running_loop()
        if self._connection is None or self._connection.loop is not loop:
            self._connection = _Connection(self._settings, self._retries, self._timeout)
        async with self._connection.in_use() as connection:
            yield connection


class _Connection:
    """A client of the service, which belongs to the event loop it was made in."""

    def __init__(self, settings: ServiceSettings, retries: int, timeout: float) -> None:
        self.loop = asyncio.get_running_loop()
        self._settings = settings
        self._slots = asyncio.Semaphore(REQUESTS_AT_ONCE)
        self._calls = 0
        self._is_over = False
        self._client, self._service, self._request = _open(settings, retries, timeout)

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
                raise _failure(self._settings, cause) from cause
        if len(rows) != len(texts):
            raise EmbeddingError(
                f"{self._settings.provider} sent {len(rows)} embeddings for {len(texts)} texts"
            )
        return rows


def _open(
    settings: ServiceSettings, retries: int, timeout: float
) -> tuple[
    AsyncOpenAI,
    OpenAITextEmbedding | AzureTextEmbedding,
    OpenAIEmbeddingPromptExecutionSettings,
]:
    """The client, the service around it, and what every request says."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on import, about its own dependencies
        from openai import AsyncAzureOpenAI, AsyncOpenAI
        from semantic_kernel.connectors.ai.open_ai import (
            AzureTextEmbedding,
            OpenAIEmbeddingPromptExecutionSettings,
            OpenAITextEmbedding,
        )
    request = OpenAIEmbeddingPromptExecutionSettings(
        ai_model_id=settings.model, dimensions=settings.dimensions, encoding_format="float"
    )
    shared: dict[str, Any] = {
        "api_key": settings.api_key, "max_retries": retries, "timeout": timeout,
    }  # fmt: skip
    if settings.api_version is None:
        client = AsyncOpenAI(base_url=settings.endpoint, **shared)
        return client, OpenAITextEmbedding(settings.model, async_client=client), request
    azure = AsyncAzureOpenAI(
        azure_endpoint=settings.endpoint, api_version=settings.api_version, **shared
    )
    service = AzureTextEmbedding(
        deployment_name=settings.model, endpoint=settings.endpoint,
        api_version=settings.api_version, api_key=settings.api_key, async_client=azure,
    )  # fmt: skip
    return azure, service, request


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


async def _gather(requests: list[Any]) -> list[list[list[float]]]:
    """All answers; the first failure ends the requests that still run."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(request) for request in requests]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


def _failure(settings: ServiceSettings, error: BaseException) -> EmbeddingError:
    """What went wrong, from the innermost error that tells."""
    while type(error).__module__.startswith("semantic_kernel") and error.__cause__ is not None:
        error = error.__cause__
    status = getattr(error, "status_code", None)
    told = str(error).replace(settings.api_key, "***") or type(error).__name__
    hint = {401: "; check the key", 403: "; check the key", 404: "; check name and endpoint"}
    return EmbeddingError(
        f"{settings.provider} at {settings.endpoint}, model {settings.model!r}: {told}"
        f"{hint.get(status or 0, '')}",
        rejected_input=status in _REJECTED_INPUT,
    )
