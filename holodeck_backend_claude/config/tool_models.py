"""What a tool of an agent file may say: the part every type has, and most of HoloDeck's own."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field, model_validator

from holodeck_backend_claude.config.base import Flag, NonBlank, Number, Seconds, Strict, Whole
from holodeck_backend_claude.config.database import DatabaseConfig
from holodeck_backend_claude.config.paths import ExistingPath
from holodeck_backend_claude.config.ranking_models import KeywordIndexConfig, RerankerConfig
from holodeck_backend_claude.contract import (
    DEFAULT_CALL_SECONDS,
    DEFAULT_CALLS_AT_ONCE,
    DEFAULT_RESULT_CHARS,
)


class ToolConfig(Strict):
    """What every tool may say, whatever its type; plugins subclass it.

    Attributes:
        type: The tag that selects the tool type.
        name: What the model's tool is named after.
        description: What the model reads to decide whether to call the tool.
        timeout: Seconds one call may take.
        max_result_chars: The most characters of a result that reach the model; the cut is marked.
        concurrency: How many calls of this tool run at once.
        on_error: ``continue`` tells the model and goes on; ``fail`` ends the run.
    """

    type: str
    name: NonBlank
    description: NonBlank
    timeout: Seconds = DEFAULT_CALL_SECONDS
    max_result_chars: Whole = Field(default=DEFAULT_RESULT_CHARS, ge=100, le=1_000_000)
    concurrency: Whole = Field(default=DEFAULT_CALLS_AT_ONCE, ge=1, le=64)
    on_error: Literal["continue", "fail"] = "continue"

    @property
    def call_seconds(self) -> float:
        """Seconds one call may take."""
        return self.timeout


class VectorstoreTool(ToolConfig):
    """``type: vectorstore``: search over a folder of documents.

    Attributes:
        source: A ``.md`` or ``.txt`` file, a folder of them, a pattern (``docs/**/*.md``), or a
            ``file://`` or ``https://`` URL; paths are relative to agent.yaml.
        vector_field: The fields of records that are searched; with it, documents are lists of
            records (CSV, JSON, JSON Lines).
        id_field: The field whose value names a record; needed with ``vector_field``.
        meta_fields: Fields that are told with a result.
        field_separator: Stands between several searched fields.
        delimiter: Stands between the cells of a CSV file; None tells it from the first lines.
        record_path: Where in a JSON document the records are, such as ``data.items``.
        record_prefix: Stands before the names of a record's own fields in results.
        meta_prefix: Stands before the names of fields around the records.
        chunk_size: Tokens of one chunk at most.
        chunk_overlap: Tokens a chunk repeats from the one before it.
        embedding_model: The model of its vectors, instead of ``embedding_provider.name``.
        embedding_dimensions: Their length, instead of ``embedding_provider.dimensions``.
        database: Where its vectors are kept; None keeps them in its index alone.
        top_k: Passages returned at most.
        min_similarity_score: Passages below this score (0.0 to 1.0) are left out.
    """

    type: Literal["vectorstore"] = "vectorstore"
    source: Annotated[NonBlank, ExistingPath("source")]
    vector_field: NonBlank | Annotated[tuple[NonBlank, ...], Field(min_length=1)] | None = None
    id_field: NonBlank | None = None
    meta_fields: tuple[NonBlank, ...] = ()
    field_separator: str = "\n"
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    record_path: NonBlank | None = None
    record_prefix: NonBlank | None = None
    meta_prefix: NonBlank | None = None
    chunk_size: Whole = Field(default=200, ge=16, le=8_192)
    chunk_overlap: Whole = Field(default=30, ge=0, le=4_096)
    embedding_model: NonBlank | None = None
    embedding_dimensions: Whole | None = Field(default=None, gt=0)
    database: DatabaseConfig | None = None
    top_k: Whole = Field(default=5, ge=1, le=100)
    min_similarity_score: Number | None = Field(default=None, ge=0, le=1)

    @model_validator(mode="after")
    def _has_records(self) -> VectorstoreTool:
        if self.vector_field is not None and self.id_field is None:
            raise ValueError(
                "'vector_field' makes documents lists of records, which need 'id_field': the "
                "field whose value names a record"
            )
        of_records = (
            "id_field", "meta_fields", "field_separator", "delimiter", "record_path",
            "record_prefix", "meta_prefix",
        )  # fmt: skip
        given = [name for name in of_records if name in self.model_fields_set]
        if self.vector_field is None and given:
            raise ValueError(
                f"'{given[0]}' is about records; it needs 'vector_field': the fields of a record "
                "that are searched"
            )
        return self

    @property
    def vector_fields(self) -> tuple[str, ...]:
        """The fields that are searched; none where documents are no records."""
        one = self.vector_field
        return () if one is None else (one,) if isinstance(one, str) else one

    @model_validator(mode="after")
    def _overlap_is_smaller(self) -> VectorstoreTool:
        if self.chunk_overlap >= self.chunk_size:
            raise ValueError(
                f"chunk_overlap ({self.chunk_overlap}) must be smaller than "
                f"chunk_size ({self.chunk_size})"
            )
        return self


class HierarchicalDocumentToolConfig(ToolConfig):
    """``type: hierarchical_document``: search that keeps the structure of documents.

    Attributes:
        source: A ``.md`` or ``.txt`` file, a folder of them, a pattern (``docs/**/*.md``), or a
            ``file://`` or ``https://`` URL; paths are relative to agent.yaml.
        chunking_strategy: ``structure`` cuts Markdown at its headings; ``token`` fills chunks
            from the beginning of a document to its end.
        max_chunk_tokens: Tokens of one chunk at most.
        chunk_overlap: Tokens a chunk repeats from the one before it.
        document_domain: The kind of document, which tells what its numbered parts look like.
        max_subsection_depth: How many levels of numbered parts count; None means all.
        extract_definitions: Whether terms are told with their definitions.
        extract_cross_references: Whether sections that a passage refers to are told with it.
        embedding_model: The model of its vectors, instead of ``embedding_provider.name``.
        database: Where its vectors are kept; None keeps them in its index alone.
        search_mode: ``semantic`` searches by meaning, ``keyword`` by words, ``exact`` for the
            query word for word, ``hybrid`` fuses all three.
        top_k: Passages returned at most.
        min_score: Passages that are less similar (0.0 to 1.0) are left out.
        semantic_weight: How much the search by meaning counts in ``hybrid``.
        keyword_weight: How much the search by words counts.
        exact_weight: How much it counts that a passage holds the query word for word.
        rrf_k: How slowly the fused score falls with the rank.
        enable_reranking: Whether ``reranker_model`` ranks the best passages once more.
        reranker_model: Who does.
        keyword_index: Where words are looked up; None means the built-in index.
    """

    type: Literal["hierarchical_document"] = "hierarchical_document"
    source: Annotated[NonBlank, ExistingPath("source")]
    chunking_strategy: Literal["structure", "token"] = "structure"
    max_chunk_tokens: Whole = Field(default=800, ge=100, le=2_000)
    chunk_overlap: Whole = Field(default=50, ge=0, le=200)
    document_domain: Literal[
        "none", "us_legislative", "au_legislative", "academic", "technical", "legal_contract"
    ] = "none"
    max_subsection_depth: Whole | None = Field(default=None, ge=1)
    extract_definitions: Flag = True
    extract_cross_references: Flag = True
    embedding_model: NonBlank | None = None
    database: DatabaseConfig | None = None
    search_mode: Literal["semantic", "keyword", "exact", "hybrid"] = "hybrid"
    top_k: Whole = Field(default=10, ge=1, le=100)
    min_score: Number | None = Field(default=None, ge=0, le=1)
    semantic_weight: Number = Field(default=0.5, ge=0, le=1)
    keyword_weight: Number = Field(default=0.3, ge=0, le=1)
    exact_weight: Number = Field(default=0.2, ge=0, le=1)
    rrf_k: Whole = Field(default=60, ge=1)
    enable_reranking: Flag = False
    reranker_model: RerankerConfig | None = None
    keyword_index: KeywordIndexConfig | None = None

    @model_validator(mode="after")
    def _has_a_reranker(self) -> HierarchicalDocumentToolConfig:
        if self.enable_reranking and self.reranker_model is None:
            raise ValueError(
                "'enable_reranking' needs 'reranker_model': {provider: local, name: FOLDER} for a "
                "cross-encoder, or the provider of a plugin"
            )
        return self

    @model_validator(mode="after")
    def _overlap_is_smaller(self) -> HierarchicalDocumentToolConfig:
        if self.chunk_overlap >= self.max_chunk_tokens:
            raise ValueError(
                f"chunk_overlap ({self.chunk_overlap}) must be smaller than "
                f"max_chunk_tokens ({self.max_chunk_tokens})"
            )
        return self

    @model_validator(mode="after")
    def _vectors_are_used(self) -> HierarchicalDocumentToolConfig:
        for name in ("database", "embedding_model"):
            if getattr(self, name) is not None and self.search_mode in ("keyword", "exact"):
                raise ValueError(
                    f"'{name}' is about vectors, and 'search_mode: {self.search_mode}' needs "
                    "none; leave it out, or search by meaning too"
                )
        return self

    @model_validator(mode="after")
    def _weights_are_shares(self) -> HierarchicalDocumentToolConfig:
        shares = (self.semantic_weight, self.keyword_weight, self.exact_weight)
        if self.search_mode == "hybrid" and not math.isclose(sum(shares), 1.0, abs_tol=1e-6):
            raise ValueError(
                "semantic_weight, keyword_weight and exact_weight must add up to 1.0, and these "
                f"({' + '.join(f'{share:g}' for share in shares)}) add up to {sum(shares):g}"
            )
        return self


class FunctionTool(ToolConfig):
    """``type: function``: a Python function in a file."""

    type: Literal["function"] = "function"
    file: NonBlank
    function: NonBlank


class PromptTool(ToolConfig):
    """``type: prompt``: a prompt template the model can call."""

    type: Literal["prompt"] = "prompt"
    template: NonBlank | None = None
    file: NonBlank | None = None
