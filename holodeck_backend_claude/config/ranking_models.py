"""What an agent file may say of how a search tool finds and ranks."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import field_validator

from holodeck_backend_claude.config.base import NonBlank, Strict


class KeywordIndexConfig(Strict):
    """``keyword_index``: where the words of documents are looked up.

    Attributes:
        provider: ``in-memory`` is the built-in one, which is kept in the tool's index.
    """

    provider: Literal["in-memory"] = "in-memory"

    @field_validator("provider", mode="before")
    @classmethod
    def _is_built_in(cls, value: Any) -> Any:
        if value == "opensearch":
            raise ValueError(
                "keyword search is built in here and needs no server, so 'opensearch' is not "
                "served; leave keyword_index out, or say 'in-memory'"
            )
        return value


class RerankerConfig(Strict):
    """``reranker_model``: who ranks the passages that were found once more.

    Attributes:
        provider: ``local`` is a cross-encoder in a folder; plugins bring others.
        name: The folder, or the provider's name of a model.
    """

    provider: NonBlank
    name: NonBlank | None = None
