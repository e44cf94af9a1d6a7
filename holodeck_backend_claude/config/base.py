"""What the models of all blocks of an agent file share: unknown keys refused, and plain types."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints

NonBlank: TypeAlias = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Seconds: TypeAlias = Annotated[float, Field(gt=0, le=86_400)]
Secret: TypeAlias = Annotated[SecretStr, Field(min_length=1)]


class Strict(BaseModel):
    """Refuses keys it does not know; immutable once validated."""

    model_config = ConfigDict(extra="forbid", frozen=True)
