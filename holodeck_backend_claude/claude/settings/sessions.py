"""``claude.sessions:`` in agent.yaml: where conversations are kept so that they can go on."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, SecretStr, StringConstraints, model_validator

from holodeck_backend_claude.config.base import Strict, Whole

DEFAULT_PATH = ".holodeck/sessions.db"

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Url = Annotated[SecretStr, Field(min_length=1)]


class SessionSettings(Strict):
    """``sessions:`` keeps the conversations of ``create_session``, to be resumed by their id.

    Attributes:
        store: ``sqlite`` is a file of this machine, ``postgres`` a database that several share.
        path: The file of ``sqlite``, relative to agent.yaml; by default
            ``.holodeck/sessions.db``.
        url: The database of ``postgres``, ``postgresql://user:password@host/name``.
        keep_days: Conversations that nobody continued for so many days are deleted when the
            agent starts; None keeps them until somebody deletes them.
    """

    store: Literal["sqlite", "postgres"]
    path: Text | None = None
    url: Url | None = None
    keep_days: Whole | None = Field(default=None, ge=1, le=36_500)

    @model_validator(mode="after")
    def _fitting_place(self) -> Self:
        if self.store == "postgres":
            if self.url is None:
                raise ValueError("'store: postgres' needs 'url', such as ${DATABASE_URL}")
            if self.path is not None:
                raise ValueError("'path' belongs to 'store: sqlite'; remove it")
        elif self.url is not None:
            raise ValueError("'url' belongs to 'store: postgres'; remove it")
        return self
