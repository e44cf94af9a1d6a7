"""Embedding services through Semantic Kernel, against a scripted API on loopback."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any, Self

import aiohttp
import numpy as np
import pytest
from aiohttp import web

from holodeck_backend_claude.config import EmbeddingProviderConfig
from holodeck_backend_claude.connections import Connection
from holodeck_backend_claude.contract import ConfigError
from holodeck_backend_claude.retrieval import EmbeddingError, make_embedder
from holodeck_backend_claude.retrieval.embedding.models import ServiceModel
from holodeck_backend_claude.retrieval.embedding.services import (
    MOST_CHARS,
    MOST_TEXTS,
    REQUESTS_AT_ONCE,
    ServiceEmbedder,
)
from holodeck_backend_claude.testing import (
    EmbeddingRequest,
    Failure,
    ScriptedOpenAIAPI,
    fail,
    hashed_words,
)

KEY = "a-key-without-a-known-form"


class Api:
    """Embeddings on loopback that can be refused or held, and a count of what is under way."""

    def __init__(self) -> None:
        self.refusals: list[Failure] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.under_way = 0
        self.most_under_way = 0
        self.paths: list[str] = []
        self.scripted = ScriptedOpenAIAPI(embeddings=self._embed)

    @property
    def requests(self) -> list[EmbeddingRequest]:
        return self.scripted.embedding_requests

    def _embed(self, text: str) -> list[float] | Failure:
        return self.refusals.pop(0) if self.refusals else hashed_words(text)

    async def __aenter__(self) -> Self:
        """Start the scripted API, and before it a door that can be kept shut."""
        await self.scripted.__aenter__()
        self._client = aiohttp.ClientSession()
        door = web.Application(client_max_size=1 << 26)
        door.router.add_post("/{path:.*}", self._pass_on)
        self._runner = web.AppRunner(door, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._runner.cleanup()
        await self._client.close()
        await self.scripted.__aexit__(*error)

    async def _pass_on(self, http: web.Request) -> web.Response:
        self.paths.append(http.path_qs)
        self.under_way += 1
        self.most_under_way = max(self.under_way, self.most_under_way)
        try:
            await self.gate.wait()
            headers = {name: http.headers[name] for name in _PASSED_ON if name in http.headers}
            async with self._client.post(
                f"{self.scripted.url}/v1/embeddings", data=await http.read(), headers=headers
            ) as answer:
                return web.Response(
                    body=await answer.read(),
                    status=answer.status,
                    headers={"content-type": "application/json", "retry-after-ms": "1"},
                )
        finally:
            self.under_way -= 1


_PASSED_ON = ("Authorization", "Content-Type")


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with Api() as running:
        yield running


@pytest.fixture
async def embedder(api: Api) -> AsyncIterator[ServiceEmbedder]:
    made = make(api)
    yield made
    await made.close()


def make(api: Api, **limits: Any) -> ServiceEmbedder:
    return ServiceEmbedder(model(f"{api.url}/v1"), **limits)


def model(endpoint: str) -> ServiceModel:
    return ServiceModel("openai", "small", Connection(endpoint, KEY))


async def test_texts_come_back_as_vectors_in_their_order(
    api: Api, embedder: ServiceEmbedder
) -> None:
    texts = [f"text number {n}" for n in range(150)]
    vectors = await embedder.embed_documents(texts)
    assert vectors.shape == (150, 1_536)
    assert vectors.dtype == np.float32
    expected = np.array([hashed_words(text) for text in texts], np.float32)
    assert vectors == pytest.approx(expected, abs=1e-6)


async def test_a_request_has_at_most_64_texts(api: Api, embedder: ServiceEmbedder) -> None:
    await embedder.embed_documents(["text"] * 150)
    sizes = sorted(len(request.texts) for request in api.requests)
    assert sizes == [150 - 2 * MOST_TEXTS, MOST_TEXTS, MOST_TEXTS]


async def test_a_request_of_long_texts_has_fewer(api: Api, embedder: ServiceEmbedder) -> None:
    await embedder.embed_documents(["x" * (MOST_CHARS // 2)] * 3)
    assert sorted(len(request.texts) for request in api.requests) == [1, 2]


async def test_requests_run_at_once_up_to_a_limit(api: Api, embedder: ServiceEmbedder) -> None:
    api.gate.clear()
    calls = [
        asyncio.create_task(embedder.embed_documents(["x" * MOST_CHARS] * 8)) for _ in range(2)
    ]
    while api.under_way < REQUESTS_AT_ONCE:
        await asyncio.sleep(0)
    api.gate.set()
    await asyncio.gather(*calls)
    assert api.most_under_way == REQUESTS_AT_ONCE


async def test_model_key_and_dimensions_are_sent(api: Api) -> None:
    config = EmbeddingProviderConfig(
        provider="openai", name="large", endpoint=f"{api.url}/v1", dimensions=1_536
    )
    embedder = make_embedder(config, {"OPENAI_API_KEY": KEY})
    assert isinstance(embedder, ServiceEmbedder)
    assert embedder.dimensions == 1_536
    await embedder.embed_query("text")
    await embedder.close()
    (request,) = api.requests
    assert (request.model, request.dimensions, request.texts) == ("large", 1_536, ("text",))
    assert request.headers["authorization"] == f"Bearer {KEY}"


async def test_azure_is_asked_for_its_deployment_and_version(api: Api) -> None:
    config = EmbeddingProviderConfig(
        provider="azure_openai", name="my-deployment", endpoint=api.url, api_version="2024-06-01"
    )
    embedder = make_embedder(config, {"AZURE_OPENAI_API_KEY": KEY})
    assert isinstance(embedder, ServiceEmbedder)
    assert (await embedder.embed_query("text")).shape == (1_536,)
    await embedder.close()
    assert api.paths == ["/openai/deployments/my-deployment/embeddings?api-version=2024-06-01"]


async def test_ollama_needs_no_key(api: Api) -> None:
    embedder = make_embedder(EmbeddingProviderConfig(provider="ollama"), {"OLLAMA_HOST": api.url})
    assert isinstance(embedder, ServiceEmbedder)
    await embedder.embed_query("text")
    await embedder.close()
    assert api.requests[0].model == "nomic-embed-text"


@pytest.mark.parametrize(
    ("provider", "said", "variable", "model"),
    [
        ("google", {}, "GEMINI_API_KEY", "gemini-embedding-001"),
        ("google", {"name": "text-embedding-004"}, "GEMINI_API_KEY", "text-embedding-004"),
        ("mistral", {}, "MISTRAL_API_KEY", "mistral-embed"),
        ("huggingface", {"name": "bge-small"}, "HF_TOKEN", "bge-small"),
    ],
)
async def test_other_services_are_asked_in_the_same_format(
    provider: Any, said: dict[str, Any], variable: str, model: str, api: Api
) -> None:
    config = EmbeddingProviderConfig(provider=provider, endpoint=f"{api.url}/v1", **said)
    embedder = make_embedder(config, {variable: KEY})
    assert embedder is not None
    assert (await embedder.embed_documents(["a", "b"])).shape[0] == 2
    await embedder.close()
    (request,) = api.requests
    assert (request.model, request.texts) == (model, ("a", "b"))
    assert request.headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"provider": "huggingface", "name": "x"}, r"No address for .*Text Embeddings Inference"),
        ({"provider": "huggingface", "endpoint": "http://x"}, "needs the model that its server"),
        ({"provider": "mistral", "dimensions": 64}, "'mistral' takes none"),
        ({"provider": "google"}, "GEMINI_API_KEY"),
    ],
)
def test_what_a_service_lacks_is_told(said: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        make_embedder(EmbeddingProviderConfig(**said), {"MISTRAL_API_KEY": KEY})


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_refusal_that_may_pass_is_tried_again(
    status: int, api: Api, embedder: ServiceEmbedder
) -> None:
    api.refusals = [fail(status), fail(status)]
    assert (await embedder.embed_query("text")).shape == (1_536,)
    assert len(api.paths) == 3


async def test_a_refusal_that_does_not_pass_is_an_error_after_the_retries(api: Api) -> None:
    embedder = make(api, retries=2)
    api.refusals = [fail(429, "slow down") for _ in range(3)]
    with pytest.raises(EmbeddingError, match="slow down") as failure:
        await embedder.embed_query("text")
    await embedder.close()
    assert len(api.paths) == 3
    assert not failure.value.rejected_input


async def test_a_wrong_key_is_an_error_at_once_that_does_not_tell_it(
    api: Api, embedder: ServiceEmbedder
) -> None:
    api.refusals = [fail(401, f"There is no {KEY} here")]
    with pytest.raises(EmbeddingError, match="check the key") as failure:
        await embedder.embed_query("text")
    assert len(api.paths) == 1
    assert KEY not in str(failure.value)
    assert "[secret]" in str(failure.value)
    assert not failure.value.rejected_input


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_refused_texts_are_told_apart_from_other_failures(
    status: int, api: Api, embedder: ServiceEmbedder
) -> None:
    api.refusals = [fail(status, "too long")]
    with pytest.raises(EmbeddingError, match="too long") as failure:
        await embedder.embed_documents(["text"])
    assert failure.value.rejected_input


async def test_a_service_that_does_not_answer_is_given_up(api: Api) -> None:
    api.gate.clear()
    embedder = make(api, retries=0, timeout=0.05)
    with pytest.raises(EmbeddingError, match="timed out"):
        await embedder.embed_query("text")
    await embedder.close()


async def test_a_service_that_is_not_there_is_an_error_with_its_address() -> None:
    embedder = ServiceEmbedder(model("http://127.0.0.1:9/v1"), retries=0)
    with pytest.raises(EmbeddingError, match=r"http://127\.0\.0\.1:9/v1"):
        await embedder.embed_query("text")
    await embedder.close()


async def test_it_can_be_used_again_after_close(api: Api, embedder: ServiceEmbedder) -> None:
    await embedder.embed_query("one")
    await embedder.close()
    await embedder.embed_query("two")
    assert len(api.paths) == 2


async def test_closing_lets_the_calls_under_way_end(api: Api, embedder: ServiceEmbedder) -> None:
    api.gate.clear()
    call = asyncio.create_task(embedder.embed_query("text"))
    while not api.under_way:
        await asyncio.sleep(0)
    await embedder.close()
    api.gate.set()
    assert (await call).shape == (1_536,)


def test_it_works_in_one_event_loop_after_the_other() -> None:
    async def ask(embedder: ServiceEmbedder | None) -> ServiceEmbedder:
        async with Api() as api:
            used = embedder or make(api)
            used._model = model(f"{api.url}/v1")
            assert (await used.embed_query("text")).shape == (1_536,)
            await used.close()
            return used

    asyncio.run(ask(asyncio.run(ask(None))))


def test_choosing_a_service_imports_no_semantic_kernel() -> None:
    code = (
        "import sys\n"
        "from holodeck_backend_claude.config import EmbeddingProviderConfig\n"
        "from holodeck_backend_claude.retrieval import make_embedder\n"
        "make_embedder(EmbeddingProviderConfig(provider='openai'), {'OPENAI_API_KEY': 'k'})\n"
        "make_embedder(None, {})\n"
        "print([m for m in ('semantic_kernel', 'openai', 'onnxruntime') if m in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
