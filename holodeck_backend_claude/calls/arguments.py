"""The arguments of a call: coerced, validated, or refused in words the model can act on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jsonschema.exceptions import ValidationError, best_match

from holodeck_backend_claude.calls.coercion import coerce
from holodeck_backend_claude.calls.refusals import CallRefusedError
from holodeck_backend_claude.contract import JsonSchema
from holodeck_backend_claude.json_schema import UncheckableError, errors_of, time_limit

_MOST_PROBLEMS = 5
_LONGEST_PROBLEM = 300


class ArgumentsRefusedError(CallRefusedError):
    """The arguments do not fit the schema; the text names each problem."""


def prepare_arguments(given: object, schema: JsonSchema, *, label: str) -> dict[str, Any]:
    """The arguments that the tool gets.

    Args:
        given: What the model sent; None stands for no arguments.
        schema: The tool's checked schema.
        label: The tool as messages name it.

    Raises:
        ArgumentsRefusedError: They do not fit the schema, even where they could be coerced, or
            it takes too long to find out.
    """
    try:
        with time_limit():
            arguments = coerce({} if given is None else given, schema)
            problems = list(_problems(arguments, schema))
    except UncheckableError as cause:
        problems = [str(cause)]
    if not problems:
        return dict(arguments)
    shown = "; ".join(problems[:_MOST_PROBLEMS])
    more = len(problems) - _MOST_PROBLEMS
    raise ArgumentsRefusedError(
        f"{label} was not called, its arguments are invalid: {shown}"
        + (f"; and {more} more" if more > 0 else "")
    )


def _problems(arguments: object, schema: JsonSchema) -> Iterator[str]:
    for error in errors_of(arguments, schema):
        # of an anyOf that fails, the option that came closest says more than "none of them"
        deepest = best_match([error]) or error
        yield f"{_place(deepest)}{deepest.message[:_LONGEST_PROBLEM]}"


def _place(error: ValidationError) -> str:
    path = "".join(
        f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path
    ).lstrip(".")
    return f"{path}: " if path else ""
