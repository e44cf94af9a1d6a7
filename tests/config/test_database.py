"""``database:`` of a search tool says what it needs, and refuses what has no effect."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from holodeck_backend_claude.config import DatabaseConfig, HierarchicalDocumentToolConfig

PG = {"provider": "postgres", "connection_string": "postgresql://u:p@h/d"}


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"provider": "postgres"}, "'provider: postgres' needs 'connection_string'"),
        ({"provider": "qdrant"}, "'provider: qdrant' needs 'url' or 'path'"),
        ({"provider": "qdrant", "url": "http://q", "path": "q"}, "needs 'url' or 'path'"),
        ({"provider": "faiss", "url": "http://q"}, "'url' does not belong to 'provider: faiss'"),
        ({"provider": "in-memory", "collection": "abc"}, "'collection' does not belong to"),
        ({**PG, "collection": "a-b"}, "String should match pattern"),
        ({**PG, "collection": "x" * 51}, "String should match pattern"),
        ({"provider": "redis"}, "provider 'redis' is not served yet; those that are: in-mem"),
        ({"provider": "chromadb", "path": "db"}, "'path' does not belong to 'provider: chromadb'"),
        ("my-db", "'my-db' names a vector store of config.yaml, which is not read"),
    ],
)
def test_what_is_wrong_is_told(said: Any, problem: str) -> None:
    with pytest.raises(ValidationError) as caught:
        DatabaseConfig.model_validate(said)
    assert problem in str(caught.value)


@pytest.mark.parametrize("mode", ["keyword", "exact"])
def test_a_search_without_vectors_has_no_use_for_a_store(mode: str) -> None:
    said = {"name": "d", "description": "d", "source": "https://x/y.md", "database": PG}
    with pytest.raises(ValidationError, match=f"'search_mode: {mode}' needs none"):
        HierarchicalDocumentToolConfig.model_validate({**said, "search_mode": mode})


def test_the_connection_string_is_a_secret() -> None:
    assert "u:p" not in repr(DatabaseConfig.model_validate(PG))
