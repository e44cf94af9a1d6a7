"""What agent.yaml says about the model: as options and variables of Claude Code, and checked.

What Claude Code would leave out without a word is refused, or named once.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

from holodeck_backend_claude.contract import BackendInitError

if TYPE_CHECKING:
    from holodeck_backend_claude.claude.settings import ClaudeSettings
    from holodeck_backend_claude.config import Agent

log = logging.getLogger(__name__)

# Claude Code turns to the fallback model when it was refused so often.
_REFUSALS_BEFORE_FALLBACK = 3
# What Claude Code lets a model write where nothing else is said; thinking is a part of it.
_USUAL_OUTPUT_TOKENS = 32_000
# The models that came before the setting; all later ones take it.
_BEFORE_EFFORT = frozenset(
    {"claude-opus-4", "claude-opus-4-0", "claude-opus-4-1", "claude-sonnet-4", "claude-sonnet-4-0"}
    | {"claude-sonnet-4-5", "claude-haiku-4-5"}
)
_LONG_BEFORE = re.compile(r"claude-(2|3|instant)\b")
_WITHOUT_MAX_EFFORT = frozenset({"claude-opus-4-5"})
# The models that take a number of tokens; later ones decide by themselves how long they think.
_WITH_BUDGET = _BEFORE_EFFORT | {"claude-opus-4-5", "claude-opus-4-6", "claude-sonnet-4-6"}
# A name as providers write it, without their prefix and without date and version.
_NAME = re.compile(r"claude-[a-z0-9.-]+?(?=$|[-@]20\d{6}|-v\d|[:\[])")
# What Claude Code takes from nobody: said in agent.yaml, it is reported as without effect.
_UNUSED_KEYS = ("temperature", "top_p", "api_version")

_ALWAYS = {
    # A model is never replaced by a newer one: what agent.yaml names is what is asked.
    "CLAUDE_CODE_DISABLE_LEGACY_MODEL_REMAP": "1",
    # Older programs fall back from some models only.
    "FALLBACK_FOR_ALL_PRIMARY_MODELS": "1",
    # A budget of tokens counts for every model that takes one.
    "CLAUDE_CODE_DISABLE_ADAPTIVE_THINKING": "1",
}


def model_options(agent: Agent, settings: ClaudeSettings) -> dict[str, Any]:
    """The fields of ``ClaudeAgentOptions`` about the model and the limits of its work."""
    thinking = settings.extended_thinking
    return {
        "model": agent.model.name,
        "fallback_model": settings.fallback_model,
        "effort": settings.effort,
        "max_turns": settings.max_turns,
        "max_budget_usd": settings.max_budget_usd,
        "thinking": {
            "type": "enabled",
            "budget_tokens": thinking.budget_tokens,
            # newer models say nothing of their thinking unless asked
            "display": "summarized",
        }
        if thinking.enabled
        else {"type": "disabled"},
    }


def model_variables(agent: Agent, settings: ClaudeSettings) -> dict[str, str]:
    """The variables of the process about the model."""
    limit = agent.model.max_tokens
    thinking = settings.extended_thinking
    if limit is None and thinking.enabled and thinking.budget_tokens >= _USUAL_OUTPUT_TOKENS:
        # the thinking would be cut to fit; a model that writes less keeps its own limit
        limit = thinking.budget_tokens + _USUAL_OUTPUT_TOKENS
    return _ALWAYS | ({"CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(limit)} if limit else {})


def check_model_settings(agent: Agent, settings: ClaudeSettings) -> None:
    """Refuse what could have no effect; log a warning for what the model may not take.

    Raises:
        BackendInitError: With the setting, why it has no effect, and what to do.
    """
    for key in _UNUSED_KEYS:
        if key in agent.model.model_fields_set:
            log.warning(
                "model.%s has no effect on the Claude backend: Claude Code does not let it be "
                "set; remove it from agent.yaml",
                key,
            )
    _check_effort(agent.model.name, settings.effort, "claude.effort")
    _check_subagents(agent, settings)
    _check_fallback(agent, settings.fallback_model)
    _check_thinking(agent, settings)


def _check_subagents(agent: Agent, settings: ClaudeSettings) -> None:
    for name, subagent in settings.agents.items():
        model = agent.model.name if subagent.model in (None, "inherit") else subagent.model
        _check_effort(model or "", subagent.effort, f"claude.agents.{name}.effort")


def _check_effort(model: str, effort: str | None, key: str) -> None:
    if effort is None:
        return
    if _plain_name(model) in _BEFORE_EFFORT or _LONG_BEFORE.search(model):
        raise BackendInitError(
            f"{key} has no effect with {model!r}, which came before that setting: remove it, or "
            f"take a newer model"
        )
    if effort == "max" and _plain_name(model) in _WITHOUT_MAX_EFFORT:
        raise BackendInitError(f"{key}: {model!r} goes up to 'high'; say 'high'")


def _plain_name(model: str) -> str:
    found = _NAME.search(model)
    return found[0] if found else model


def _check_fallback(agent: Agent, fallback: str | None) -> None:
    if fallback is None:
        return
    if fallback == agent.model.name:
        raise BackendInitError(
            "claude.fallback_model is the model of the agent itself; name another one, or remove it"
        )
    if agent.execution.max_retries < _REFUSALS_BEFORE_FALLBACK - 1:
        raise BackendInitError(
            f"claude.fallback_model answers when the model was overloaded "
            f"{_REFUSALS_BEFORE_FALLBACK} times, and execution.max_retries: "
            f"{agent.execution.max_retries} gives up before that; set it to "
            f"{_REFUSALS_BEFORE_FALLBACK - 1} or more"
        )


def _check_thinking(agent: Agent, settings: ClaudeSettings) -> None:
    thinking = settings.extended_thinking
    if not thinking.enabled:
        return
    limit = agent.model.max_tokens
    if limit is not None and limit <= thinking.budget_tokens:
        raise BackendInitError(
            f"claude.extended_thinking.budget_tokens is {thinking.budget_tokens}, and "
            f"model.max_tokens, which counts the thinking too, is {limit}: make max_tokens larger "
            f"than the budget, or the budget smaller"
        )
    named = "budget_tokens" in thinking.model_fields_set
    if named and _plain_name(agent.model.name) not in _WITH_BUDGET:
        log.warning(
            "claude.extended_thinking.budget_tokens may have no effect with %r: newer models "
            "decide themselves how long they think; claude.effort says how much work they put in",
            agent.model.name,
        )
