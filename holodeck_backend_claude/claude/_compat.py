"""The one place that knows what differs between versions of the Claude Agent SDK, or is private.

Nothing outside this module branches on a version. Measured between 0.2.82 and 0.2.189.
"""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path
from typing import Any


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


def known_version(program: str) -> str | None:
    """What ``program -v`` prints, where that is known: of the program that the SDK brings.

    SDK 0.2.82 asks before each start, which takes as long as half of the start itself.
    """
    import claude_agent_sdk
    from claude_agent_sdk._cli_version import __cli_version__

    brought = Path(claude_agent_sdk.__file__).parent / "_bundled"
    return f"{__cli_version__} (Claude Code)" if Path(program).parent == brought else None


def pipes_of(client: Any) -> asyncio.SubprocessTransport | None:
    """The pipes to the client's process, to be closed after it was disconnected; None if it is.

    An SDK that gives up reading leaves the pipe full, and asyncio does not close one like that.
    """
    process = getattr(getattr(client, "_transport", None), "_process", None)  # anyio's
    pipes = getattr(getattr(process, "_process", None), "_transport", None)  # asyncio's
    return pipes if isinstance(pipes, asyncio.SubprocessTransport) else None


def blocking_hook(call: Any, *, seconds: float) -> Any:
    """A hook before tool calls; where the SDK can say so, a hook that fails blocks the call.

    SDK 0.2.82 cannot: there a hook that raises or is late leaves Claude Code to itself.

    Args:
        call: What the SDK calls.
        seconds: How long Claude Code waits for it, at most 2,147,483.
    """
    from claude_agent_sdk import HookMatcher

    if any(field.name == "on_failure" for field in dataclasses.fields(HookMatcher)):
        return HookMatcher(hooks=[call], timeout=seconds, on_failure="block")
    return HookMatcher(hooks=[call], timeout=seconds)


def limits_native_calls() -> bool:
    """Whether Claude Code takes a limit of time for the calls of one MCP server.

    Measured: the program of SDK 0.2.82 does not, that of 0.2.189 does; of those between, nothing
    is known.
    """
    return _is_newest()


def knows_whole_servers() -> bool:
    """Whether ``mcp__<server>`` among the tools of a subagent means all tools of that server.

    Measured as above: in SDK 0.2.82 it means none at all.
    """
    return _is_newest()


def _is_newest() -> bool:
    import claude_agent_sdk

    version = claude_agent_sdk.__version__.split(".")[:3]
    return tuple(int(part) for part in version if part.isdigit()) >= (0, 2, 189)
