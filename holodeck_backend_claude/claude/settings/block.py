"""``claude:`` in agent.yaml: what only the Claude backend understands."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

ToolName = Annotated[str, Field(min_length=1)]


class ExtendedThinking(BaseModel):
    """``extended_thinking:`` lets the model think before it answers.

    Attributes:
        enabled: Off unless asked for.
        budget_tokens: Tokens the model may think for in one answer.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool = False
    budget_tokens: int = Field(default=10_000, ge=1_024, le=100_000)


class ClaudeSettings(BaseModel):
    """The ``claude:`` block.

    Attributes:
        max_turns: Model turns of one run at most; None means no limit.
        max_budget_usd: US dollars one conversation may cost; None means no limit.
        allowed_tools: If given, only these of the agent's tools are offered to the model, by the
            name the model sees (``kb_search``).
        extended_thinking: Thinking before the answer.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_turns: int | None = Field(default=None, ge=1, le=1_000)
    max_budget_usd: float | None = Field(default=None, gt=0)
    allowed_tools: tuple[ToolName, ...] | None = None
    extended_thinking: ExtendedThinking = ExtendedThinking()
