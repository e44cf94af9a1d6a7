"""How the model thinks and which one answers: what ``claude:`` says about the model itself."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field

from holodeck_backend_claude.config.base import Flag, Strict, Whole

Effort: TypeAlias = Literal["low", "medium", "high", "max"]
"""How much work the model puts into an answer."""


class ExtendedThinking(Strict):
    """``extended_thinking:`` lets the model think before it answers.

    Attributes:
        enabled: Off unless asked for.
        budget_tokens: Tokens the model may think for in one answer.
    """

    enabled: Flag = False
    budget_tokens: Whole = Field(default=10_000, ge=1_024, le=100_000)
