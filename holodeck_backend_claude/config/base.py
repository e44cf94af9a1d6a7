"""What the models of all blocks of an agent file share: unknown keys refused, and plain types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints

from holodeck_backend_claude.redaction import mask_known_secrets

NonBlank: TypeAlias = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Seconds: TypeAlias = Annotated[float, Field(gt=0, le=86_400)]
Secret: TypeAlias = Annotated[SecretStr, Field(min_length=1)]


class Strict(BaseModel):
    """Refuses keys it does not know; immutable once validated."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """What ``repr`` shows: of an address that holds a password, not that."""
        for name, value in super().__repr_args__():
            yield name, mask_known_secrets(value) if isinstance(value, str) else value
