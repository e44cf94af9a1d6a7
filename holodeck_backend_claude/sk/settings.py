"""``semantic_kernel:`` in agent.yaml: what only this backend understands."""

from __future__ import annotations

from pydantic import Field

from holodeck_backend_claude.config.base import Strict, Whole


class SKSettings(Strict):
    """The ``semantic_kernel:`` block.

    Attributes:
        max_turns: Model answers of one turn at most; None means no limit but the time limit.
    """

    max_turns: Whole | None = Field(default=None, ge=1, le=1_000)
