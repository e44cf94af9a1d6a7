"""The ``claude:`` block as a whole, and how it is found in an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from holodeck_backend_claude.claude.plugin import SETTINGS_KEY
from holodeck_backend_claude.claude.settings.agents import SubagentConfig, SubagentName
from holodeck_backend_claude.claude.settings.environment import Variables
from holodeck_backend_claude.claude.settings.grants import Grants
from holodeck_backend_claude.claude.settings.model import Effort, ExtendedThinking
from holodeck_backend_claude.claude.settings.sessions import SessionSettings
from holodeck_backend_claude.config.base import Flag, NonBlank, Number, Whole

if TYPE_CHECKING:
    from holodeck_backend_claude.config import Agent


class ClaudeSettings(Grants):
    """The ``claude:`` block; what it grants is in :class:`Grants`.

    Attributes:
        max_turns: Model turns of one run at most; None means no limit.
        max_budget_usd: US dollars one conversation may cost; None means no limit.
        extended_thinking: Thinking before the answer.
        effort: How much work the model puts into an answer; None leaves it to the model.
        fallback_model: Answers where the agent's own model is overloaded.
        agents: The subagents that the agent can hand a task to, by name.
        sessions: Where conversations are kept so that they can be resumed; None keeps none.
        warm_clients: How many processes to keep connected for the conversations to come; None
            leaves it to whoever runs the agent.
        native_mcp: Whether Claude Code starts the MCP servers itself and calls their tools.
        env: Further variables of the Claude Code process, by name; their values are masked.
    """

    max_turns: Whole | None = Field(default=None, ge=1, le=1_000)
    max_budget_usd: Number | None = Field(default=None, gt=0)
    extended_thinking: ExtendedThinking = ExtendedThinking()
    effort: Effort | None = None
    fallback_model: NonBlank | None = None
    agents: dict[SubagentName, SubagentConfig] = Field(default_factory=dict)
    sessions: SessionSettings | None = None
    warm_clients: Whole | None = Field(default=None, ge=0, le=32)
    native_mcp: Flag = False
    env: Variables = Field(default_factory=dict)


def settings_of(agent: Agent) -> ClaudeSettings:
    """The agent's ``claude:`` block, or its defaults."""
    return agent.settings_for(SETTINGS_KEY, ClaudeSettings)
