"""What one turn of an agent produced."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class ExecutionResult:
    """What one turn of an agent produced, the same on every backend.

    Attributes:
        response: The final answer, not all text of all model turns run together.
        tool_calls: ``{"name", "arguments", "call_id"}`` per call, in the order of the calls; a
            subagent's calls also have ``parent_call_id``, the call that runs the subagent.
        tool_results: ``{"call_id", "result", "is_error"}`` per finished call; of a subagent's
            calls also ``parent_call_id``.
        token_usage: ``input_tokens`` (cached input included), ``output_tokens``,
            ``total_tokens``; where the provider tells, also ``cache_read_input_tokens`` and
            ``cache_creation_input_tokens``, which are parts of ``input_tokens``.
        structured_output: The validated value where the agent has a response format.
        num_turns: Model turns used, one per model answer.
        is_error: True if the turn did not end as it should.
        error_reason: One of the reasons of the contract (``docs/reference/results.md``).
        cost_usd: Cost in US dollars as the provider or SDK reports it.
        session_id: The id of the conversation.
        thinking: The model's thinking, where it was asked for.
        duration_ms: Wall time of the turn in milliseconds.
        permission_denials: ``{"name", "arguments", "call_id", "reason"}`` per refused tool call.
        model: The model that answered, as the provider names it.
        error_detail: What the provider, tool or process said about the error, secrets masked.
        warnings: What else is to be known about the turn, such as that it could not be stored.
    """

    response: str
    tool_calls: list[dict[str, Any]] = field(default_factory=list)
    tool_results: list[dict[str, Any]] = field(default_factory=list)
    token_usage: dict[str, int] = field(default_factory=dict)
    structured_output: Any | None = None
    num_turns: int = 1
    is_error: bool = False
    error_reason: str | None = None
    cost_usd: float | None = None
    session_id: str | None = None
    thinking: str | None = None
    duration_ms: int | None = None
    permission_denials: list[dict[str, Any]] = field(default_factory=list)
    model: str | None = None
    error_detail: str | None = None
    warnings: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain data, in the order of the declaration (``--json`` prints this)."""
        return asdict(self)
