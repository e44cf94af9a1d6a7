"""What the traces of one agent are written with: tracer, metrics, content, and its facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from holodeck_backend_claude.tracing import names
from holodeck_backend_claude.tracing.content import Content

if TYPE_CHECKING:
    from opentelemetry.metrics import Histogram, Meter
    from opentelemetry.trace import Tracer

    from holodeck_backend_claude.config import Agent

Value: TypeAlias = str | bool | int | float
Attributes: TypeAlias = Mapping[str, Value]


@dataclass(frozen=True)
class Instruments:
    """See the module.

    Attributes:
        tracer: Makes spans.
        durations: Seconds of each operation.
        tokens: Tokens of each model request.
        content: Masks what was said, or holds it back.
        agent_name: The agent's.
        provider: Who serves the model.
        agent: Attributes of the agent's spans.
        request: Attributes of every request to the agent's model.
    """

    tracer: Tracer
    durations: Histogram
    tokens: Histogram
    content: Content
    agent_name: str
    provider: str
    agent: Attributes = field(default_factory=dict)
    request: Attributes = field(default_factory=dict)

    @classmethod
    def of(
        cls, agent: Agent, *, tracer: Tracer, meter: Meter, content: Content, provider: str
    ) -> Instruments:
        """The instruments of an agent."""
        model = agent.model
        request = {
            names.REQUEST_MODEL: model.name,
            names.REQUEST_TEMPERATURE: model.temperature,
            names.REQUEST_TOP_P: model.top_p,
            names.REQUEST_MAX_TOKENS: model.max_tokens,
        }
        facts = {names.AGENT_NAME: agent.name, names.AGENT_DESCRIPTION: agent.description}
        return cls(
            tracer=tracer,
            durations=meter.create_histogram(
                names.OPERATION_DURATION,
                unit="s",
                description="Duration of model requests, tool calls and turns",
                explicit_bucket_boundaries_advisory=names.DURATION_BUCKETS,
            ),
            tokens=meter.create_histogram(
                names.TOKEN_USAGE,
                unit="{token}",
                description="Tokens of model requests",
                explicit_bucket_boundaries_advisory=names.TOKEN_BUCKETS,
            ),
            content=content,
            agent_name=agent.name,
            provider=provider,
            agent=_known(facts),
            request=_known(request),
        )

    def operation(self, name: str, *more: Mapping[str, Value | None]) -> dict[str, Value]:
        """The attributes of an operation: what it is, whose it is, and what else is known."""
        found: dict[str, Value] = {names.OPERATION: name, names.PROVIDER: self.provider}
        for attributes in more:
            found |= _known(attributes)
        return found

    def took(self, nanoseconds: int, attributes: Mapping[str, Value]) -> None:
        """Measure an operation with the attributes of its span that a metric may have."""
        kept = {key: attributes[key] for key in _MEASURED if key in attributes}
        self.durations.record(max(0, nanoseconds) / 1e9, kept)

    def used(self, tokens: Mapping[str, int | None], attributes: Mapping[str, Value]) -> None:
        """Measure the tokens of a request, by their kind."""
        kept = {key: attributes[key] for key in _MEASURED if key in attributes}
        for kind, count in tokens.items():
            if count is not None:
                self.tokens.record(count, {**kept, names.TOKEN_TYPE: kind})


_MEASURED = (
    names.OPERATION,
    names.PROVIDER,
    names.AGENT_NAME,
    names.REQUEST_MODEL,
    names.RESPONSE_MODEL,
    names.TOOL_NAME,
    names.ERROR_TYPE,
)


def _known(attributes: Mapping[str, Value | None]) -> dict[str, Value]:
    return {key: value for key, value in attributes.items() if value is not None}
