"""What the models of all blocks of an agent file share: unknown keys refused, and plain types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    StringConstraints,
)
from pydantic_core import PydanticKnownError

from holodeck_backend_claude.redaction import mask_known_secrets


def _true_or_false(value: Any) -> Any:
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        if value not in ("true", "false"):
            raise PydanticKnownError("bool_type")
        return value == "true"
    return value


def _no_bool(kind: Literal["int_type", "float_type"]) -> BeforeValidator:
    def check(value: Any) -> Any:
        if isinstance(value, bool):
            raise PydanticKnownError(kind)
        return value

    return BeforeValidator(check)


Flag: TypeAlias = Annotated[bool, BeforeValidator(_true_or_false)]
"""True or false, and neither ``1`` nor ``yes``. The texts ``true`` and ``false`` are taken as well:
what a variable of the file stands for is always a text."""

Whole: TypeAlias = Annotated[int, _no_bool("int_type")]
"""A whole number, and neither true nor false."""

Number: TypeAlias = Annotated[float, _no_bool("float_type")]
"""A number, and neither true nor false."""

NonBlank: TypeAlias = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Seconds: TypeAlias = Annotated[Number, Field(gt=0, le=86_400)]
Secret: TypeAlias = Annotated[SecretStr, Field(min_length=1)]


class Strict(BaseModel):
    """Refuses keys it does not know; immutable once validated."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """What ``repr`` shows: of an address that holds a password, not that."""
        for name, value in super().__repr_args__():
            yield name, mask_known_secrets(value) if isinstance(value, str) else value
