"""What can go wrong with an MCP server, and the words for it."""

from __future__ import annotations

import ssl
from collections.abc import Iterator

import httpx
from mcp.shared.exceptions import McpError
from pydantic import ValidationError

from holodeck_backend_claude.contract import ToolServerError
from holodeck_backend_claude.failures import cause_text
from holodeck_backend_claude.redaction import mask_secrets
from holodeck_backend_claude.tools.mcp.answers import Unanswered


class ServerLostError(ToolServerError):
    """The connection to a server is gone, or could not be made; the text says why."""


class TooLongError(ServerLostError):
    """A server sent a message that is too long to be kept."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"it sent a message of over {limit} bytes", server="")


class NotSentError(Exception):
    """A request did not leave this process, because the connection was gone before."""


class BadAnswerError(Exception):
    """A server answered in a form that is not that of the protocol."""


def reason_of(error: BaseException) -> str:
    """Why a connection failed, in one line, secrets masked.

    A task group of anyio wraps what happened; of several failures the first says most.
    """
    return mask_secrets(_reason(next(_leaves(error), error)))


def first_problem(cause: ValidationError) -> str:
    """What is wrong first in what a server sent, without what it was."""
    first = cause.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(step) for step in first["loc"])
    return f"{place}: {first['msg']}" if place else str(first["msg"])


def refusal(status: int, phrase: str, location: str | None) -> str:
    """The words for an answer of HTTP that is none to the request, such as a redirect."""
    where = f" to {location[:200]}" if location else ""
    return f"it answered {status} {phrase[:80]}{where}"


def unreachable(error: BaseException) -> str:
    """Why no connection came about."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return (
                f"its certificate is not trusted: {cause.verify_message}; if it is the right "
                "server, set SSL_CERT_FILE to a file with the certificate of its authority"
            )
        if isinstance(cause, ssl.SSLError):
            return (
                f"no encrypted connection came about ({cause.reason}): check host, port and "
                "scheme in 'url'"
            )
        cause = cause.__cause__ or cause.__context__
    return f"it cannot be reached: {cause_text(error)}"


def _reason(first: BaseException) -> str:
    match first:
        case httpx.HTTPError():
            return _http_reason(first)
        case McpError(error=Unanswered(message=why)):
            return why
        case McpError():
            return f"it answered with an error: {first}"
        case BadAnswerError():
            return str(first)
    return cause_text(first)


def _http_reason(error: httpx.HTTPError) -> str:
    match error:
        case httpx.HTTPStatusError(response=response):
            return refusal(
                response.status_code, response.reason_phrase, response.headers.get("location")
            )
        case httpx.TimeoutException():
            return "it did not answer in time"
    return unreachable(error)


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            yield from _leaves(part)
    else:
        yield error
