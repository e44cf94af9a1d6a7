"""Keys of HoloDeck's published schema that nothing here reads, and what to say about each."""

from __future__ import annotations

from holodeck_backend_claude.config.problems import DataPath

# Blocks of agent.yaml for other programs: accepted, and named as such.
FOREIGN = {
    "deployment": "HoloDeck's own deploy command",
    "openai": "HoloDeck's backend for the OpenAI Agents SDK",
    "optimizer": "HoloDeck's own optimizer",
    "author": "people: it changes nothing about a run",
}

TOOL_TYPES = frozenset({"vectorstore", "hierarchical_document", "function", "mcp", "prompt"})

# By place; "*" is any item. A key that a model knows is never looked up here.
_KEYS: dict[tuple[str, ...], frozenset[str]] = {
    (): frozenset({"evaluations", "test_cases", "test_cases_file"} | {"tool_filtering"}),
    ("execution",): frozenset(
        {"file_timeout", "download_timeout", "cache_enabled", "cache_dir", "verbose", "quiet"}
        | {"parallel_test_cases"}
    ),
    ("tools", "*"): frozenset(
        {"defer_loading", "vector_field", "vector_fields", "meta_fields", "embedding_model"}
        | {"embedding_dimensions", "database", "record_path", "record_prefix", "meta_prefix"}
        | {"is_retrieval", "id_field", "field_separator", "delimiter", "keyword_index"}
        | {"contextual_embeddings", "context_model", "context_max_tokens", "context_concurrency"}
        | {"enable_reranking", "reranker_model"}
    ),
    ("embedding_provider",): frozenset({"temperature", "max_tokens", "top_p", "auth_provider"}),
    ("claude",): frozenset(
        {"working_directory", "permission_mode", "max_turns", "max_concurrent_sessions"}
        | {"session_memory_estimate_mib", "extended_thinking", "web_search", "bash"}
        | {"file_system", "agents", "allowed_tools", "effort", "max_budget_usd"}
        | {"fallback_model", "disallowed_tools", "setting_sources", "i_understand_this_is_unsafe"}
        | {"disable_default_hooks", "disable_subprocess_env_scrub"}
    ),
}


def is_published(path: DataPath) -> bool:
    """Whether HoloDeck's schema has the key that ends ``path``."""
    place = tuple("*" if isinstance(step, int) else step for step in path[:-1])
    return path[-1] in _KEYS.get(place, ())
