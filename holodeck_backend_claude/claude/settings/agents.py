"""``claude.agents``: the subagents that the agent can hand a task to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

from pydantic import Field, StringConstraints, model_validator

from holodeck_backend_claude.claude.settings.model import Effort
from holodeck_backend_claude.config import ExistingPath
from holodeck_backend_claude.config.base import NonBlank, Strict, Whole

SubagentName: TypeAlias = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")
]

STARTS_SUBAGENTS = ("Agent", "Task")
"""The built-in tool of Claude Code that starts a subagent, and its older name."""


class SubagentConfig(Strict):
    """One subagent: a model of its own with a prompt of its own, for one task at a time.

    Attributes:
        description: What the agent reads to decide whether to hand it a task.
        prompt: Its system prompt; exactly one of this and ``prompt_file``.
        prompt_file: A UTF-8 text file with its system prompt, relative to agent.yaml and in its
            folder.
        tools: Its tools by their own names; None means all tools of the agent, empty means none.
        model: ``sonnet``, ``opus``, ``haiku``, the id of a model, or ``inherit``; None means the
            agent's own.
        max_turns: Answers of its model for one task at most; None means no limit.
        effort: How much work its model puts into an answer; None means the agent's own.
    """

    description: NonBlank
    prompt: NonBlank | None = None
    prompt_file: Annotated[NonBlank, ExistingPath("text", inside=True)] | None = None
    tools: tuple[NonBlank, ...] | None = None
    model: NonBlank | None = None
    max_turns: Whole | None = Field(default=None, ge=1, le=1_000)
    effort: Effort | None = None

    @model_validator(mode="after")
    def _exactly_one_prompt(self) -> SubagentConfig:
        if (self.prompt is None) == (self.prompt_file is None):
            raise ValueError("give either 'prompt' or 'prompt_file', not both and not neither")
        return self

    @model_validator(mode="after")
    def _starts_no_others(self) -> SubagentConfig:
        for name in self.tools or ():
            if name in STARTS_SUBAGENTS:
                raise ValueError(f"a subagent cannot start subagents; remove {name!r} from 'tools'")
        return self

    def prompt_text(self, base_dir: Path) -> str:
        """Its system prompt, read from the file where it names one.

        Args:
            base_dir: The folder of agent.yaml.
        """
        if self.prompt is not None:
            return self.prompt
        return (base_dir / (self.prompt_file or "")).read_text(encoding="utf-8-sig").strip()
