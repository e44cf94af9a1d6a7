"""``database:`` of a search tool: where its vectors are kept."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr, StringConstraints, model_validator

from holodeck_backend_claude.config.base import NonBlank, Secret, Strict

_PLACES = {
    "in-memory": (),
    "postgres": ("connection_string",),
    "qdrant": ("url", "path"),
    "faiss": (),
    "chromadb": ("url",),
    "weaviate": ("url",),
    "pinecone": ("url",),
    "azure-ai-search": ("url",),
}
"""Of each provider the keys of which exactly one is needed."""

_KEY = ("api_key",)
_MORE = {
    "qdrant": _KEY, "faiss": ("path",), "chromadb": _KEY, "weaviate": _KEY, "pinecone": _KEY,
    "azure-ai-search": _KEY,
}  # fmt: skip
"""And those that it takes besides."""

_NOT_SERVED = {
    "azure-cosmos-mongo", "azure-cosmos-nosql", "sql-server", "mongodb", "redis",
}  # fmt: skip


class DatabaseConfig(Strict):
    """``database:`` puts the vectors of a tool into a vector store; texts stay in its index.

    Attributes:
        provider: The kind of store; ``in-memory`` is the search that there is without one.
        connection_string: The database of ``postgres``,
            ``postgresql://user:password@host:5432/name``.
        url: The server of ``qdrant``, ``chromadb`` or ``weaviate``, the host of an index of
            ``pinecone``, or the service of ``azure-ai-search``.
        api_key: Sent to that server.
        path: The folder of ``qdrant``'s local mode, or of ``faiss``; relative to agent.yaml.
        collection: The name of the collection; by default one is made of agent, tool and folder.
    """

    provider: Literal[
        "in-memory", "postgres", "qdrant", "faiss", "chromadb", "weaviate", "pinecone",
        "azure-ai-search",
    ]  # fmt: skip
    connection_string: Secret | None = None
    url: NonBlank | None = None
    api_key: Secret | None = None
    path: NonBlank | None = None
    collection: (
        Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]{2,49}$")] | None
    ) = Field(default=None)

    def secret_of(self, key: str) -> str:
        """A key in the clear; empty where it is not given."""
        value = getattr(self, key)
        return value.get_secret_value() if isinstance(value, SecretStr) else ""

    @model_validator(mode="before")
    @classmethod
    def _is_a_mapping(cls, value: Any) -> Any:
        if isinstance(value, str):
            raise ValueError(  # noqa: TRY004  # pydantic takes ValueError alone for a problem
                f"{value!r} names a vector store of config.yaml, which is not read; write it "
                "here: database: {provider: ..., ...}"
            )
        if isinstance(value, dict) and value.get("provider") in _NOT_SERVED:
            raise ValueError(
                f"provider {value['provider']!r} is not served yet; those that are: "
                f"{', '.join(_PLACES)}"
            )
        return value

    @model_validator(mode="after")
    def _has_a_place(self) -> DatabaseConfig:
        places = _PLACES[self.provider]
        given = [name for name in ("connection_string", "url", "api_key", "path", "collection")
                 if getattr(self, name) is not None]  # fmt: skip
        takes = (*places, *_MORE.get(self.provider, ()))
        takes += () if self.provider == "in-memory" else ("collection",)
        for name in given:
            if name not in takes:
                raise ValueError(f"'{name}' does not belong to 'provider: {self.provider}'")
        if places and len([name for name in given if name in places]) != 1:
            raise ValueError(f"'provider: {self.provider}' needs {' or '.join(map(repr, places))}")
        return self
