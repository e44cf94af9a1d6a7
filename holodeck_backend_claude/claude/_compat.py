"""The one place that knows which version of the Claude Agent SDK and of mcp is installed.

Nothing outside this module branches on a version. Measured between 0.2.82 and 0.2.189.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holodeck_backend_claude.contract import ToolAnnotations


def literal_prompt(message: str) -> str:
    """The message in a form that Claude Code takes as words, never as a slash command.

    SDKs without ``verbatim_prompts`` run a prompt that begins with ``/`` as a command of Claude
    Code: no model is called and the "answer" is the command's output. A leading line break is
    enough to make it text.
    """
    if message.startswith("/") and not _has_option("verbatim_prompts"):
        return "\n" + message
    return message


def literal_prompt_options() -> dict[str, Any]:
    """The options that make Claude Code take prompts as words, where the SDK has them."""
    return {"verbatim_prompts": True} if _has_option("verbatim_prompts") else {}


def _has_option(name: str) -> bool:
    from claude_agent_sdk import ClaudeAgentOptions

    return any(field.name == name for field in dataclasses.fields(ClaudeAgentOptions))


def wire_annotations(hints: ToolAnnotations, *, max_result_chars: int) -> Any:
    """MCP annotations with the size up to which Claude Code keeps a result inline.

    Both SDK versions read ``maxResultSizeChars`` off the annotations object and send it in the
    tool's ``_meta``; mcp's own class keeps it as an extra field.
    """
    from mcp.types import ToolAnnotations as WireAnnotations

    return WireAnnotations.model_validate(
        {
            "readOnlyHint": hints.read_only,
            "destructiveHint": hints.destructive,
            "idempotentHint": hints.idempotent,
            "openWorldHint": hints.open_world,
            "maxResultSizeChars": max_result_chars,
        }
    )


def call_id_of(request: Any) -> str | None:
    """The model's id of the tool call behind an MCP ``tools/call`` request.

    Claude Code sends it in the request's ``_meta``; SDK 0.2.82 drops that on the way.
    """
    meta = request.params.meta
    value = (meta.model_extra or {}).get("claudecode/toolUseId") if meta else None
    return value if isinstance(value, str) else None


def bundled_cli() -> str | None:
    """The path of the ``claude`` program the SDK would run, or None if there is none."""
    from claude_agent_sdk import ClaudeAgentOptions
    from claude_agent_sdk._internal.transport.subprocess_cli import SubprocessCLITransport

    try:
        # private, but the SDK has no public way to ask; its tests rely on it in both versions
        return SubprocessCLITransport(prompt="", options=ClaudeAgentOptions())._find_cli()
    except Exception as error:
        from claude_agent_sdk import CLINotFoundError

        if isinstance(error, CLINotFoundError):
            return None
        raise
