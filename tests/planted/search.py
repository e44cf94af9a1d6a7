"""A run of an agent, and the search of everything that it said."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import pytest

from holodeck_backend_claude.contract import BackendError, ExecutionResult, HoloDeckError
from tests.e2e import lab as claude
from tests.sk import lab as sk
from tests.support.otlp import OTLPReceiver, ReceivedLog, ReceivedMetric, ReceivedSpan
from tests.support.probes import Probe, ProbeConfig

from .agents import everything, registry
from .plants import Plants

# Below httpx is httpcore, whose log at DEBUG holds the bytes of every answer.
LOGGERS = (
    "root", "asyncio", "holodeck_backend_claude", "claude_agent_sdk", "mcp", "client", "httpx",
    "semantic_kernel", "openai", "opentelemetry", "psycopg", "websockets",
)  # fmt: skip

L = TypeVar("L", claude.Lab, sk.Lab)


# Claude Code sends the words of an API that refuses as they are, and can be told nothing of that.
_OF_THE_API = {"claude_code.llm_request", "claude_code.api_error"}


@dataclass
class Search(Generic[L]):
    """Runs an agent and keeps whatever it says: results, errors, the log, telemetry.

    Attributes:
        lab: What makes the backend.
        plants: What is searched for.
        receiver: Where telemetry goes.
        caplog: The log, of all loggers and levels.
        said: The texts of results and errors.
    """

    lab: L
    plants: Plants
    receiver: OTLPReceiver
    caplog: pytest.LogCaptureFixture
    said: list[str] = field(default_factory=list)

    def reached_at(self, url: str) -> dict[str, Any]:
        """``model:`` of an agent that asks this API."""
        return {
            "api_key": self.plants["model: key"],
            "endpoint": self.plants.into(url, "model: password of the endpoint"),
        }

    async def run(self, model: dict[str, Any], *probes: Probe, **said: Any) -> None:
        """Start an agent, say one thing to it and end it."""
        tools = (*said.pop("tools", ()), *(ProbeConfig(name=probe.name) for probe in probes))
        given = everything(self.plants, **{"collector": self.receiver.url, "settings": {}, **said})
        agent = self.lab.agent(None, model=model, tools=tools, **given)
        self.said.append(repr(agent))
        backend = self.lab.backend_type(agent, registry(*probes))
        try:
            await backend.initialize()
            self._result(await backend.invoke_once("Hi"))
        except HoloDeckError as error:
            self.said += [str(error), repr(error), "".join(traceback.format_exception(error))]
            self._result(error.result if isinstance(error, BackendError) else None)
        finally:
            await backend.teardown()

    def _result(self, result: ExecutionResult | None) -> None:
        if result is not None:
            self.said += [repr(result), json.dumps(result.to_dict())]

    def heard(self, words: str) -> bool:
        """Whether a result or an error has these words: what was to be quoted was quoted."""
        return any(words in text for text in self.said)

    def leaks(self) -> dict[str, set[str]]:
        """What was found where; nothing, as it should be."""
        found = {
            "results and errors": self.plants.found_in(*self.said),
            "telemetry": self.plants.found_in(*map(repr, self._sent())),
        }
        for name, text in self._log():
            found.setdefault(f"log of {name}", set()).update(self.plants.found_in(text))
        return {place: names for place, names in found.items() if names}

    def _sent(self) -> Iterator[ReceivedSpan | ReceivedMetric | ReceivedLog]:
        got = self.receiver
        for span in got.spans:
            rest = {**span.attributes, "error": ""}
            is_known = span.name in _OF_THE_API
            yield replace(span, status_text="", attributes=rest) if is_known else span
        for record in got.logs:
            rest = {**record.attributes, "error": ""}
            yield replace(record, attributes=rest) if record.body in _OF_THE_API else record
        yield from got.metrics

    def _log(self) -> Sequence[tuple[str, str]]:
        write = self.caplog.handler.format
        return [
            (record.name, write(record))
            for record in self.caplog.records
            if record.name.startswith(LOGGERS)
        ]
