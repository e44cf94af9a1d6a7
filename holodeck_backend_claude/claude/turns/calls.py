"""The tool calls of one turn, the agent's own and those of its subagents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from holodeck_backend_claude.claude.permissions.wording import own_words
from holodeck_backend_claude.contract import ToolEnd, ToolStart
from holodeck_backend_claude.redaction import mask_secrets

if TYPE_CHECKING:
    from claude_agent_sdk import ToolResultBlock, ToolUseBlock

    from holodeck_backend_claude.calls import BoundTool


class Calls:
    """Records calls and results as ``ExecutionResult`` has them.

    Args:
        tools: The tools by their full wire name; results carry the tools' own names.
    """

    def __init__(self, tools: Mapping[str, BoundTool]) -> None:
        self._tools = tools
        self._calls: dict[str, dict[str, Any]] = {}
        self._results: list[dict[str, Any]] = []

    @property
    def calls(self) -> list[dict[str, Any]]:
        """``tool_calls`` of the result."""
        return list(self._calls.values())

    @property
    def results(self) -> list[dict[str, Any]]:
        """``tool_results`` of the result."""
        return list(self._results)

    @property
    def had_subagents(self) -> bool:
        """Whether a subagent called a tool in this turn, or was to be started."""
        return any("parent_call_id" in call for call in self._calls.values())

    def name(self, wire_name: str) -> str:
        """The tool's own name."""
        tool = self._tools.get(wire_name)
        return tool.name if tool else wire_name

    def start(self, block: ToolUseBlock, parent: str | None) -> ToolStart:
        """A call begins; ``parent`` is the call that runs the subagent, if one made it."""
        name = self.name(block.name)
        self._calls[block.id] = {
            "name": name,
            "arguments": block.input,
            "call_id": block.id,
            **_of_subagent(parent),
        }
        return ToolStart(block.id, name, block.input, parent)

    def end(self, block: ToolResultBlock) -> ToolEnd:
        """A call has its result."""
        call = self._calls.get(block.tool_use_id, {})
        parent = call.get("parent_call_id")
        text, is_error = _result_text(block.content), bool(block.is_error)
        if is_error:  # of a tool of Claude Code's own, which no policy of ours stood around
            text = mask_secrets(own_words(text))
        self._results.append(
            {
                "call_id": block.tool_use_id,
                "result": text,
                "is_error": is_error,
                **_of_subagent(parent),
            }
        )
        return ToolEnd(block.tool_use_id, call.get("name", ""), text, is_error, parent)

    def denied(self, denials: Sequence[object]) -> list[dict[str, Any]]:
        """``permission_denials`` of the result, from what the SDK says of them."""
        return [
            {
                "name": self.name(str(denial.get("tool_name"))),
                "arguments": denial.get("tool_input"),
                "call_id": denial.get("tool_use_id"),
            }
            for denial in denials
            if isinstance(denial, dict)
        ]


def _of_subagent(parent: str | None) -> dict[str, str]:
    """Whose a call is, where it is not the agent's own."""
    return {"parent_call_id": parent} if parent else {}


def _result_text(content: str | Sequence[Mapping[str, Any]] | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(
        str(block["text"]) if "text" in block else f"[{block.get('type', 'content')}]"
        for block in content
    )
