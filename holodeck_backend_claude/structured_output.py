"""Structured answers: read, held against the schema of the response format.

Both backends ask their model for an answer of that form in their own way; what comes back is
read and validated here, so that an answer is either of the form or an error that says why not.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from holodeck_backend_claude import outcomes
from holodeck_backend_claude.contract import ExecutionResult, JsonSchema
from holodeck_backend_claude.encodable import encodable_data
from holodeck_backend_claude.json_schema import UncheckableError, errors_of, time_limit

_WHOLE_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)\n?```", re.DOTALL)
_LONGEST_WHY = 300


def hold_against(
    result: ExecutionResult, schema: JsonSchema, given: object = None
) -> ExecutionResult:
    """The result of a turn whose answer has to be of a form, held against it.

    Args:
        result: The turn; one that failed stays as it is.
        schema: The form.
        given: The structured answer, where the model gave it apart from its text.

    Returns:
        The result with ``structured_output`` and its JSON as ``response``; or a failed one.
    """
    if result.is_error:
        return result
    candidates = list(_candidates(schema, given, result.response))
    if not candidates:
        return outcomes.failed(result, outcomes.STRUCTURED_MISSING, _said(result.response))
    problems: list[str] = []
    for candidate in candidates:
        problem = problem_of(candidate, schema)
        if problem is None:
            return replace(result, structured_output=candidate, response=as_text(candidate))
        problems.append(problem)
    return outcomes.failed(result, outcomes.structured_invalid(problems[0]))


def problem_of(value: Any, schema: JsonSchema) -> str | None:
    """Why a value is not of the form, or None where it is."""
    from jsonschema.exceptions import best_match

    try:
        with time_limit():
            error = best_match(errors_of(value, schema))
    except UncheckableError as cause:
        return str(cause)
    if error is None:
        return None
    place = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in error.absolute_path)
    text = error.message
    if len(text) > _LONGEST_WHY:
        text = f"{text[:_LONGEST_WHY]}…"
    return f"{place.lstrip('.')}: {text}" if place else text


def as_text(value: object) -> str:
    """A structured answer as the text of an answer."""
    return json.dumps(value, ensure_ascii=False)


def _candidates(schema: JsonSchema, given: object, text: str) -> Iterator[Any]:
    """What may be the answer, the likeliest first."""
    values = list(_json_in(text)) if given is None else [encodable_data(given)]
    for value in values:
        yield value
        # some models put the answer into a single property of their own
        if isinstance(value, dict) and len(value) == 1:
            [(key, inner)] = value.items()
            if key not in schema.get("properties", {}):
                yield from _json_in(inner) if isinstance(inner, str) else (inner,)


def _json_in(text: str) -> Iterator[Any]:
    """The value that the whole text is, bare or in a code fence; prose around it is no answer."""
    bare = text.strip()
    fenced = _WHOLE_FENCE.fullmatch(bare)
    try:
        value = json.loads(
            fenced[1] if fenced else bare, parse_constant=_refused, parse_float=_finite
        )
        yield encodable_data(value)
    except (ValueError, RecursionError):
        return


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refused(text)


def _said(text: str) -> str | None:
    shown = " ".join(text.split())
    return f"the model answered in words: {shown[:200]}" if shown else None
