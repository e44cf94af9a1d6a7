"""The first exchange with a server, and the words for what may be wrong with its answer."""

from __future__ import annotations

from mcp import ClientSession, types
from mcp.shared.exceptions import McpError
from mcp.shared.version import SUPPORTED_PROTOCOL_VERSIONS
from pydantic import ValidationError

from holodeck_backend_claude.tools.mcp.errors import BadAnswerError, NotSentError, first_problem


async def greet(session: ClientSession) -> types.ServerCapabilities | None:
    """Initialize a session.

    Returns:
        What the server says it has; None if the connection went meanwhile, for which the transport
        has the reason.

    Raises:
        McpError: It answered with an error.
        BadAnswerError: Its answer is not the protocol's, or of a version that is not known.
    """
    try:
        return (await session.initialize()).capabilities
    except NotSentError:
        return None
    except McpError as error:
        if error.error.code == types.CONNECTION_CLOSED:
            return None
        raise
    except ValidationError as cause:
        raise BadAnswerError(
            f"its answer to 'initialize' is not the protocol's: {first_problem(cause)}"
        ) from cause
    except RuntimeError as cause:  # of mcp, for a version it does not know
        raise _unknown_version(str(cause).rpartition(": ")[2]) from cause


def _unknown_version(version: str) -> BadAnswerError:
    first, *_, last = SUPPORTED_PROTOCOL_VERSIONS
    return BadAnswerError(
        f"it speaks version {version[:40]!r} of the protocol, which is not known here (known are "
        f"{first} to {last}): update the server, or the Python package 'mcp'"
    )
