"""What the exceptions of the model's client mean: a reason of the contract, or another try.

=================================  ===============================================================
``error_reason``                   when
=================================  ===============================================================
authentication failed              HTTP 401 or 403
rate limited                       HTTP 429 after the retries, or a rate limit within an answer
provider error: <status>           any other HTTP error; 408, 409 and 5xx after the retries
provider error: <type>             an error that the provider sent in the middle of an answer
provider error: connection lost    no connection after the retries, or an answer that broke off
provider error: unreadable answer  what came is not in the format of the API
refused                            the provider's content filter stopped the request
unexpected error: <type>           anything else; the log has the traceback
=================================  ===============================================================
"""

from __future__ import annotations

import email.utils
import json
import logging
import math
import random
import time
from collections.abc import Mapping

import openai
import pydantic

from holodeck_backend_claude import outcomes
from holodeck_backend_claude.redaction import mask_secrets, traceback_of
from holodeck_backend_claude.sk.turn import TurnFailedError

log = logging.getLogger(__name__)

_TRY_AGAIN = frozenset({408, 409, 429})
_FIRST_DELAY, _LONGEST_DELAY = 0.5, 8.0
_LONGEST_RETRY_AFTER = 60.0
_UNREADABLE = (
    openai.APIResponseValidationError,
    pydantic.ValidationError,
    json.JSONDecodeError,
    UnicodeDecodeError,
)


class AnswerCutError(Exception):
    """The stream ended before the model said that its answer is complete."""

    def __init__(self) -> None:
        super().__init__("the answer ended before it was complete")


def turn_failure(error: Exception) -> TurnFailedError:
    """The failure that an exception out of Semantic Kernel, or from below it, stands for."""
    if isinstance(error, TurnFailedError):
        return error
    cause = client_error(error) or error
    reason = _reason(cause)
    if reason is None:
        log.error("a turn failed for a reason that is not known: %s", traceback_of(error))
        reason = f"unexpected error: {type(cause).__name__}"
    return TurnFailedError(reason, mask_secrets(_said(cause)))


def client_error(error: BaseException) -> openai.OpenAIError | None:
    """The error of the model's client in an exception of Semantic Kernel, if there is one."""
    for candidate in (error, error.__cause__):
        if isinstance(candidate, openai.OpenAIError):
            return candidate
    return None


def retry_delay(error: BaseException, attempt: int) -> float | None:
    """Seconds to wait before a refused request is sent again; None for one that stays refused.

    The server's ``Retry-After`` counts, up to a minute; without it the delay doubles from half
    a second to eight, a quarter of it at random, so that many clients do not come back at once.

    Args:
        error: What the request raised.
        attempt: 1 for the first failure.
    """
    cause = client_error(error)
    if isinstance(cause, openai.APIStatusError):
        if not _worth_another_try(cause):
            return None
        asked = _retry_after(cause.response.headers)
        if asked is not None:
            return asked if asked <= _LONGEST_RETRY_AFTER else None
    elif not isinstance(cause, openai.APIConnectionError):
        return None
    longest = min(_FIRST_DELAY * 2.0 ** (attempt - 1), _LONGEST_DELAY)
    return longest * random.uniform(0.75, 1.0)  # noqa: S311  # spreads load, keeps no secret


def _worth_another_try(cause: openai.APIStatusError) -> bool:
    said = cause.response.headers.get("x-should-retry")
    if said in {"true", "false"}:
        return bool(said == "true")
    if cause.code == "insufficient_quota":
        return False
    return cause.status_code in _TRY_AGAIN or cause.status_code >= 500


def _retry_after(headers: Mapping[str, str]) -> float | None:
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        return max(seconds, 0.0) if math.isfinite(seconds) else None
    date = email.utils.parsedate_tz(headers.get("retry-after", ""))
    return max(email.utils.mktime_tz(date) - time.time(), 0.0) if date else None


def _reason(cause: BaseException) -> str | None:
    match cause:
        case AnswerCutError() | openai.APIConnectionError():
            return outcomes.CONNECTION_LOST
        case openai.APIStatusError(status_code=400, code="content_filter"):
            return outcomes.REFUSED
        case openai.APIStatusError():
            return outcomes.provider_error(cause.status_code)
        case _ if isinstance(cause, _UNREADABLE):
            return outcomes.provider_error("unreadable answer")
        case openai.APIError():
            kind = str(cause.code or cause.type or "unknown")
            return outcomes.provider_error(429 if kind.startswith("rate_limit") else kind)
        case _:
            return outcomes.CONNECTION_LOST if _is_transport_error(cause) else None


def _is_transport_error(cause: BaseException) -> bool:
    """Whether it comes from the HTTP client; older clients pass it on while an answer runs."""
    return type(cause).__module__.partition(".")[0] in {"httpx", "httpx2", "httpcore"}


def _said(cause: BaseException) -> str:
    if isinstance(cause, openai.APIConnectionError):
        return f"{cause.request.url.host}: {cause.__cause__ or cause}"
    if isinstance(cause, openai.APIError) and isinstance(cause.body, dict):
        return str(cause.body.get("message") or cause.message)
    return str(cause)
