"""What a client asked the scripted model, in one form for every wire format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal


@dataclass(frozen=True)
class RequestedCall:
    """A tool call in the history of a request; ``arguments`` is a string where it is not JSON."""

    call_id: str
    name: str
    arguments: Any


@dataclass(frozen=True)
class RequestedResult:
    """A tool result in the history of a request; ``name`` is the tool's name on the wire."""

    call_id: str
    text: str
    is_error: bool = False
    name: str = ""


@dataclass(frozen=True)
class RequestMessage:
    """One message of the history. Tool results are messages of their own, of the role tool."""

    role: Literal["user", "assistant", "tool"]
    text: str = ""
    tool_calls: tuple[RequestedCall, ...] = ()
    tool_results: tuple[RequestedResult, ...] = ()


@dataclass(frozen=True)
class RequestTool:
    """A tool that the client offers."""

    name: str
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelRequest:
    """One request for a model answer.

    Attributes:
        model: The model asked for.
        system: The system prompt.
        messages: The conversation.
        tools: The tools on offer.
        stream: True if the answer is to be streamed.
        headers: The HTTP headers, names in lower case.
        body: The JSON body as it came.
    """

    model: str
    system: str = ""
    messages: tuple[RequestMessage, ...] = ()
    tools: tuple[RequestTool, ...] = ()
    stream: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)

    @property
    def last_user_text(self) -> str:
        """What the user said last."""
        texts = (message.text for message in reversed(self.messages) if message.role == "user")
        return next((text for text in texts if text), "")

    @property
    def tool_results(self) -> tuple[RequestedResult, ...]:
        """The tool results that wait for an answer; none where the user said something since."""
        said = (m for m in reversed(self.messages) if m.role != "user" or m.text)
        last = next(said, None)
        return last.tool_results if last is not None else ()

    def wire_name(self, name: str) -> str:
        """The full name of a tool on offer: the exact one, or the only one that is called so.

        ``kb_search`` is the name of ``mcp__holodeck_tools__kb_search``, and ``mine_add`` that of
        ``mcp__mine__add``, the tool ``add`` of the MCP server ``mine``.
        """
        offered = [tool.name for tool in self.tools]
        if name in offered:
            return name
        ending = [full for full in offered if full.endswith((f"__{name}", f"-{name}"))]
        found = ending or [full for full in offered if _of_server(full) == name]
        return found[0] if len(found) == 1 else name


def _of_server(full: str) -> str | None:
    """How results name a tool that Claude Code has from an MCP server: with the server first."""
    prefix, _, rest = full.partition("__")
    server, between, name = rest.partition("__")
    return f"{server}_{name}" if prefix == "mcp" and between else None


def conversation(messages: Iterable[RequestMessage]) -> tuple[RequestMessage, ...]:
    """The messages, tool results in one message and each with the name of its tool."""
    merged: list[RequestMessage] = []
    names: dict[str, str] = {}
    for message in messages:
        names.update((call.call_id, call.name) for call in message.tool_calls)
        results = tuple(replace(r, name=names.get(r.call_id, "")) for r in message.tool_results)
        if results and merged and merged[-1].role == "tool":
            results = merged.pop().tool_results + results
        merged.append(replace(message, tool_results=results))
    return tuple(merged)


def joined_text(content: Any) -> str:
    """The text of a message's content: a string, or blocks of which the text ones count."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return ""
    blocks = (block for block in content if isinstance(block, Mapping))
    return "\n".join(str(b["text"]) for b in blocks if b.get("type") == "text" and "text" in b)
