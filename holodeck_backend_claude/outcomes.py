"""How a turn can end badly: the reasons of the contract, and which of them are exceptions.

Both backends put these texts into ``ExecutionResult.error_reason``; ``docs/reference/results.md``
lists them for readers.
"""

from __future__ import annotations

from dataclasses import replace

from holodeck_backend_claude.contract import (
    BackendSessionError,
    BackendTimeoutError,
    ExecutionResult,
)

TURN_LIMIT = "max_turns limit reached"
CRASHED = "subprocess terminated unexpectedly"
TIMED_OUT = "timeout exceeded"
UNAUTHENTICATED = "authentication failed"
RATE_LIMITED = "rate limited"
OVER_BUDGET = "max_budget_usd reached"
REFUSED = "refused"
CONNECTION_LOST = "provider error: connection lost"
INTERRUPTED = "interrupted"
STRUCTURED_MISSING = "structured output missing"


def tool_failed(name: str, *, server: str | None = None) -> str:
    """The reason of a run that a tool with ``on_error: fail`` ended.

    Args:
        name: The tool's.
        server: The MCP server of the tool, where it was this that failed.
    """
    return f"MCP server failed: {server}" if server else f"tool execution failed: {name}"


def structured_invalid(why: str) -> str:
    """The reason of an answer that is not of the response format."""
    return f"structured output invalid: {why}"


def provider_error(status: int | str) -> str:
    """The reason of a request that the provider answered with the HTTP status ``status``."""
    if status in (401, 403):
        return UNAUTHENTICATED
    if status == 429:
        return RATE_LIMITED
    return f"provider error: {status}"


def never_ran(reason: str, detail: str) -> ExecutionResult:
    """The result of a turn that ended before it began."""
    return failed(ExecutionResult(response="", num_turns=0), reason, detail)


def interrupted(detail: str) -> BackendSessionError:
    """The error where a turn cannot begin, because what it was asked of was closed."""
    return BackendSessionError(detail, result=never_ran(INTERRUPTED, detail))


def failed(result: ExecutionResult, reason: str, detail: str | None = None) -> ExecutionResult:
    """The same result, ended by ``reason``; ``detail`` is the provider's own words, if any."""
    return replace(result, is_error=True, error_reason=reason, error_detail=detail)


def check_turn(result: ExecutionResult) -> ExecutionResult:
    """Return the result of a session's turn, or raise what its reason stands for.

    Raises:
        BackendTimeoutError: The turn exceeded its time.
        BackendSessionError: It failed for any other reason than the turn limit, which is a result.
    """
    if not result.is_error or result.error_reason == TURN_LIMIT:
        return result
    error = BackendTimeoutError if result.error_reason == TIMED_OUT else BackendSessionError
    raise error(failure_text(result), result=result)


def failure_text(result: ExecutionResult) -> str:
    """Why a turn failed, as a reader is told: the reason, and what is known about it."""
    reason = result.error_reason or "the turn failed"
    return f"{reason}: {result.error_detail}" if result.error_detail else reason
