"""The model of an offline run: it calls the agent's search tool and quotes what came back."""

from __future__ import annotations

from collections.abc import Sequence

from holodeck_backend_claude.testing.request import ModelRequest, RequestedResult, RequestTool
from holodeck_backend_claude.testing.script import Reply, call_tool, say

_QUOTED_CHARS = 1_500
_NO_RESULTS = "No results found."


def offline_model(request: ModelRequest) -> Reply:
    """Answer without a model: call a tool with the question, then quote what it returned.

    The tool is the first one whose one required argument is a text. The answer always says that
    no model was called.
    """
    if request.tool_results:
        return say("\n\n".join(_report(result) for result in request.tool_results))
    question = request.last_user_text
    for tool in request.tools:
        argument = _question_argument(tool)
        if argument is not None and question:
            return call_tool(tool.name, {argument: question})
    return say(_no_tool(request.tools))


def _question_argument(tool: RequestTool) -> str | None:
    """The argument that takes the question, where it is all that the tool needs."""
    required = tool.input_schema.get("required", ())
    if len(required) != 1:
        return None
    schema = tool.input_schema.get("properties", {}).get(required[0], {})
    return required[0] if schema.get("type") == "string" and "enum" not in schema else None


def _report(result: RequestedResult) -> str:
    name = short_name(result.name)
    text = result.text.strip()
    if result.is_error:
        return f"Offline: no model was called. The tool {name} failed: {_cut(text)}"
    if not text or text == _NO_RESULTS:
        return f"Offline: no model was called. The tool {name} found nothing for your question."
    return (
        "Offline: no model was called. The passages below are what the tool "
        f"{name} returned for your question.\n\n{_cut(text)}"
    )


def _no_tool(tools: Sequence[RequestTool]) -> str:
    if not tools:
        return "Offline: no model was called. The agent has no tools."
    names = ", ".join(short_name(tool.name) for tool in tools)
    return (
        "Offline: no model was called, and no tool can be called with a question alone. "
        f"The agent has these tools: {names}."
    )


def short_name(wire_name: str) -> str:
    """The tool's own name, without the ``mcp__server__`` that Claude Code puts before it."""
    prefix, _server, name = [*wire_name.split("__", 2), "", ""][:3]
    return name if prefix == "mcp" and name else wire_name


def _cut(text: str) -> str:
    """At most so many characters, cut at the end of a line or word, with a mark."""
    if len(text) <= _QUOTED_CHARS:
        return text
    head = text[:_QUOTED_CHARS]
    end = max(head.rfind("\n"), head.rfind(" "))
    head = head[:end] if end > _QUOTED_CHARS // 2 else head
    return f"{head.rstrip()}\n[… {len(text) - len(head.rstrip())} more characters]"
