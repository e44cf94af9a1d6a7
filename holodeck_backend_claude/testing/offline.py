"""The model of an offline run: it calls the agent's search tool and quotes what came back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import chain

from holodeck_backend_claude.contract import JsonSchema
from holodeck_backend_claude.earlier_turns import message_of
from holodeck_backend_claude.testing.answers import Reply
from holodeck_backend_claude.testing.made_up import made_up
from holodeck_backend_claude.testing.request import ModelRequest, RequestedResult, RequestTool
from holodeck_backend_claude.testing.script import call_tool, say

_QUOTED_CHARS = 1_500
_NO_RESULTS = "No results found."
_NO_MODEL = "Offline: no model was called."
_NO_FORM = f"{_NO_MODEL} No answer of the response format could be made up from its schema."
_ANSWER_TOOL = "StructuredOutput"  # Claude Code takes an answer of a form as a call of it
_FILE_BLOCKS = {"image", "document", "image_url", "file"}
_TEXT_FILE = re.compile(r"<file name=[^\n]*>\n.*?\n</file>\n?", re.DOTALL)
_QUESTION_LIKE = {"query", "question", "q", "search", "text", "input", "prompt", "message"}
_ACTED_UPON = re.compile(r"cmd|code|command|dir|expression|file|id|path|script|sql|uri|url|key")


def offline_model(request: ModelRequest, form: JsonSchema | None = None) -> Reply:
    """Answer without a model: call a tool with the question, then quote what it returned.

    The tool is the first one that needs a text such as ``query`` and nothing else; where there
    is none, the first one that needs any one text which is not run or looked up as it is, as a
    ``command`` or ``path`` would be. Built-in tools of Claude Code are never called. The answer
    always says that no model was called, and that a file was not looked at.

    Args:
        request: What the model is asked.
        form: The response format of the agent. A request for an answer of it gets the smallest
            value that the schema allows, whatever was asked.
    """
    results = [each for each in request.tool_results if each.name != _ANSWER_TOOL]
    if len(results) < len(request.tool_results):
        return say(_NO_MODEL)  # it has the answer
    if results:
        return _answered(request, form, _report(results))
    tools = _own_tools(request)
    # not with the turns that are quoted before it, and not with a file
    question = message_of(_TEXT_FILE.sub("", request.last_user_text)).strip()
    fitting = [(tool.name, argument) for tool in tools if (argument := _question_argument(tool))]
    fitting.sort(key=lambda found: found[1].lower() not in _QUESTION_LIKE)
    if not question or not fitting:
        return _answered(request, form, _no_call(tools, question))
    name, argument = fitting[0]
    return call_tool(name, {argument: question})


def _answered(request: ModelRequest, form: JsonSchema | None, text: str) -> Reply:
    """The last answer of a turn: of the form where one is asked for, or the text."""
    by_call = any(tool.name == _ANSWER_TOOL for tool in request.tools)
    if form is None or not (by_call or "response_format" in request.body):
        return say(_with_files(request, text))
    value = made_up(form)
    if value is None:
        return say(_NO_FORM)
    return call_tool(_ANSWER_TOOL, value) if by_call else say(json.dumps(value))


def _with_files(request: ModelRequest, text: str) -> str:
    """The text, with a word on the files in the conversation."""
    contents = [m["content"] for m in request.body.get("messages", ()) if m["role"] == "user"]
    blocks = [block for block in chain(*contents) if isinstance(block, Mapping)]
    count = sum(block.get("type") in _FILE_BLOCKS for block in blocks)
    count += sum(len(_TEXT_FILE.findall(str(block.get("text", "")))) for block in blocks)
    if not count:
        return text
    files = "The file that was sent was" if count == 1 else f"The {count} files that were sent were"
    return text.replace(_NO_MODEL, f"{_NO_MODEL} {files} not looked at.", 1)


def _own_tools(request: ModelRequest) -> Sequence[RequestTool]:
    """The agent's tools, without those that Claude Code brings along."""
    if not request.headers.get("user-agent", "").startswith("claude-cli"):
        return request.tools
    return [tool for tool in request.tools if tool.name.startswith("mcp__")]


def _question_argument(tool: RequestTool) -> str | None:
    """The argument that takes the question, where it is all that the tool needs."""
    required: Sequence[object] = tool.input_schema.get("required") or ()
    if len(required) != 1:
        return None
    name = str(required[0])
    schema = tool.input_schema.get("properties", {}).get(name)
    if not isinstance(schema, Mapping) or schema.get("type") != "string":
        return None
    if not schema.keys().isdisjoint({"enum", "const", "format", "pattern"}):
        return None
    words = re.split(r"[_\W]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    return None if any(_ACTED_UPON.fullmatch(word) for word in words) else name


def _report(results: Sequence[RequestedResult]) -> str:
    return f"{_NO_MODEL} " + "\n\n".join(_told(result) for result in results)


def _told(result: RequestedResult) -> str:
    name, text = short_name(result.name), result.text.strip()
    if result.is_error:
        return f"The tool {name} failed: {_cut(text)}"
    if text in {"", _NO_RESULTS}:
        return f"The tool {name} found nothing for your question."
    return (
        f"The passages below are what the tool {name} returned for your question.\n\n{_cut(text)}"
    )


def _no_call(tools: Sequence[RequestTool], question: str) -> str:
    if not tools:
        return f"{_NO_MODEL} The agent has no tools."
    names = ", ".join(short_name(tool.name) for tool in tools)
    cause = "none of them can be called with a question alone" if question else "nothing was asked"
    return f"{_NO_MODEL} The agent has these tools, but {cause}: {names}."


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
    head = head[: end if end > _QUOTED_CHARS // 2 else None].rstrip()
    return f"{head}\n[… {len(text) - len(head)} more characters]"
