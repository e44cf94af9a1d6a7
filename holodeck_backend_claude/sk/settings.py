"""``semantic_kernel:`` in agent.yaml: what only this backend understands."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class SKSettings(BaseModel):
    """The ``semantic_kernel:`` block.

    Attributes:
        max_turns: Model answers of one turn at most; None means no limit but the time limit.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_turns: int | None = Field(default=None, ge=1, le=1_000)
