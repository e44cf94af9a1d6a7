"""Values held against a JSON Schema: within a time limit, and without a network.

Schemas come from MCP servers and values from models, and either can make a validator work for
ever: by a pattern that backtracks, by branches within branches, by many items to compare.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from holodeck_backend_claude.contract import JsonSchema

if TYPE_CHECKING:
    from jsonschema import ValidationError
    from jsonschema.protocols import Validator

    Keyword: TypeAlias = Callable[[Any, Any, Any, Any], "Iterable[ValidationError] | None"]

SECONDS = 1.0
"""How long a value may be held against its schema; what takes longer is refused."""

_deadline: ContextVar[float | None] = ContextVar("holodeck_schema_deadline", default=None)


class UncheckableError(Exception):
    """A value cannot be held against its schema; the text says why, in words for the model."""


@contextmanager
def time_limit(seconds: float = SECONDS) -> Iterator[None]:
    """All checks in here have this long together; one that is set already stays.

    Raises:
        UncheckableError: They took longer, the value is nested too deeply, or the schema is one
            that the check itself stumbles over.
    """
    outermost = _deadline.get() is None
    token = _deadline.set(time.monotonic() + seconds) if outermost else None
    try:
        yield
    except UncheckableError:
        raise
    except RecursionError as cause:
        raise UncheckableError("it is nested too deeply to be checked") from cause
    except Exception as cause:  # the validator stumbles over some schemas in many ways
        raise UncheckableError(
            f"it cannot be checked: {type(cause).__name__}: {str(cause)[:200]}"
        ) from cause
    finally:
        if token is not None:
            _deadline.reset(token)


def check_time() -> float:
    """The seconds that are left.

    Raises:
        UncheckableError: None are.
    """
    deadline = _deadline.get()
    left = SECONDS if deadline is None else deadline - time.monotonic()
    if left <= 0:
        raise UncheckableError(
            "it took too long to check; send less, or something simpler, and if that is not "
            "possible, simplify the schema"
        )
    return left


def errors_of(value: Any, schema: JsonSchema) -> Iterator[ValidationError]:
    """What is wrong with a value; to be read within :func:`time_limit`."""
    yield from _bounded(_draft_of(schema))(schema, registry=_no_registry()).iter_errors(value)


def is_valid(value: Any, schema: JsonSchema) -> bool:
    """Whether a value is of a schema; to be called within :func:`time_limit`."""
    return next(errors_of(value, schema), None) is None


def matches(pattern: str, text: str) -> bool:
    """Whether a regular expression is found in a text.

    Raises:
        UncheckableError: It took too long, or is no regular expression.
    """
    import regex

    try:
        return regex.search(pattern, text, timeout=check_time()) is not None
    except TimeoutError:
        check_time()
        raise UncheckableError(f"the pattern {pattern!r} takes too long") from None
    except regex.error as cause:
        raise UncheckableError(f"{pattern!r} is no regular expression: {cause}") from cause


def known_draft(schema: Mapping[str, Any]) -> bool:
    """Whether ``$schema``, if there is one, names a draft that can be checked."""
    from jsonschema.validators import validator_for

    unknown = type("Unknown", (), {})
    said = schema.get("$schema", "")
    return said == "" or (
        isinstance(said, str) and validator_for(schema, default=unknown) is not unknown
    )


def check_draft(schema: JsonSchema) -> None:
    """Hold a schema against the meta-schema of its draft.

    Raises:
        jsonschema.SchemaError: It is not valid.
    """
    _draft_of(schema).check_schema(schema)


def _draft_of(schema: Mapping[str, Any]) -> type[Validator]:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import validator_for

    chosen: type[Validator] = validator_for(schema, default=Draft202012Validator)
    return chosen


@cache
def _no_registry() -> Any:
    """One that never fetches what a reference names."""
    from referencing import Registry

    return Registry()


@cache
def _bounded(draft: type[Validator]) -> type[Validator]:
    """The draft with a look at the clock before each keyword."""
    from jsonschema import validators

    ours: dict[str, Keyword] = {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties(draft.VALIDATORS["additionalProperties"]),
        "uniqueItems": _unique_items,
    }
    if "unevaluatedProperties" in draft.VALIDATORS:
        ours["unevaluatedProperties"] = _unevaluated(draft.VALIDATORS["unevaluatedProperties"])
    timed = {name: _timed(keyword) for name, keyword in {**draft.VALIDATORS, **ours}.items()}
    bounded: type[Validator] = validators.extend(draft, timed)  # type: ignore[no-untyped-call]
    return bounded


def _timed(keyword: Keyword) -> Keyword:
    def check(validator: Any, said: Any, value: Any, schema: Any) -> Any:
        check_time()
        return keyword(validator, said, value, schema)

    return check


def _pattern(validator: Any, pattern: str, value: Any, _schema: Any) -> Iterator[ValidationError]:
    from jsonschema import ValidationError

    if validator.is_type(value, "string") and not matches(pattern, value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _pattern_properties(
    validator: Any, patterns: Mapping[str, Any], value: Any, _schema: Any
) -> Iterator[ValidationError]:
    if validator.is_type(value, "object"):
        for pattern, below in patterns.items():
            for name, item in value.items():
                if matches(pattern, name):
                    yield from validator.descend(item, below, path=name, schema_path=pattern)


def _additional_properties(plain: Keyword) -> Keyword:
    def check(validator: Any, allowed: Any, value: Any, schema: Any) -> Any:
        if "patternProperties" not in schema or not validator.is_type(value, "object"):
            return plain(validator, allowed, value, schema)
        known = schema.get("properties", {})
        patterns = schema["patternProperties"]
        rest = {
            name: item
            for name, item in value.items()
            if name not in known and not any(matches(pattern, name) for pattern in patterns)
        }
        return plain(validator, allowed, rest, {})

    return check


def _unevaluated(plain: Keyword) -> Keyword:
    def check(validator: Any, said: Any, value: Any, schema: Any) -> Any:
        if _mentions(schema, "patternProperties"):  # the plain one searches without a limit
            raise UncheckableError(
                "'unevaluatedProperties' beside 'patternProperties' is not supported"
            )
        return plain(validator, said, value, schema)

    return check


def _mentions(schema: Any, keyword: str) -> bool:
    if isinstance(schema, Mapping):
        return keyword in schema or any(_mentions(part, keyword) for part in schema.values())
    return isinstance(schema, list) and any(_mentions(part, keyword) for part in schema)


def _unique_items(
    validator: Any, unique: bool, value: Any, _schema: Any
) -> Iterator[ValidationError]:
    from jsonschema import ValidationError

    if unique and validator.is_type(value, "array"):
        seen = {_identity(item) for item in value}
        if len(seen) < len(value):
            yield ValidationError(f"{value!r} has non-unique elements")


def _identity(value: Any) -> Any:
    """Equal for values that JSON Schema calls equal: 1 and 1.0 are, 1 and true are not."""
    if isinstance(value, Mapping):
        return frozenset((name, _identity(item)) for name, item in value.items())
    if isinstance(value, list):
        return tuple(_identity(item) for item in value)
    return ("bool", value) if isinstance(value, bool) else value
