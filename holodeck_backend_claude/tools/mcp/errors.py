"""What can go wrong with an MCP server, and the words for it."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
from mcp.shared.exceptions import McpError

from holodeck_backend_claude.contract import ToolServerError
from holodeck_backend_claude.failures import cause_text
from holodeck_backend_claude.redaction import mask_secrets

SESSION_GONE = "Session terminated"  # what mcp's client makes of an HTTP status 404


class ServerLostError(ToolServerError):
    """The connection to a server is gone, or could not be made; the text says why."""


class NotSentError(Exception):
    """A request did not leave this process, because the connection was gone before."""


class BadAnswerError(Exception):
    """A server answered in a form that is not that of the protocol."""


def reason_of(error: BaseException) -> str:
    """Why a connection failed, in one line, secrets masked.

    A task group of anyio wraps what happened; of several failures the first says most.
    """
    return mask_secrets(_reason(next(_leaves(error), error)))


def _reason(first: BaseException) -> str:
    match first:
        case httpx.HTTPError():
            return _http_reason(first)
        case McpError() if SESSION_GONE in str(first):
            return "it answered 404 Not Found"
        case McpError():
            return f"it answered with an error: {first}"
        case BadAnswerError():
            return str(first)
    return cause_text(first)


def _http_reason(error: httpx.HTTPError) -> str:
    match error:
        case httpx.HTTPStatusError(response=response):
            where = f" to {location}" if (location := response.headers.get("location")) else ""
            return f"it answered {response.status_code} {response.reason_phrase}{where}"
        case httpx.TimeoutException():
            return "it did not answer in time"
    return f"it cannot be reached: {cause_text(error)}"


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            yield from _leaves(part)
    else:
        yield error
