"""The public names: importable from the package root, and known to type checkers."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

import holodeck_backend_claude as package

TREE = ast.parse(Path(package.__file__).read_text(encoding="utf-8"))

SEED_NAMES = {
    "AgentBackend", "AgentSession", "BackendError", "BackendInitError", "BackendSelector",
    "BackendSessionError", "BackendTimeoutError", "ClaudeBackend", "ClaudeSession",
    "ExecutionResult", "HierarchicalDocToolAdapter", "HoloDeckError", "SKBackend", "SKSession",
    "SearchResult", "VectorStoreTool", "VectorStoreToolAdapter", "build_holodeck_sdk_server",
    "build_options", "create_tool_adapters",
}  # fmt: skip


def typed_imports() -> dict[str, str]:
    """Name and module of what type checkers see imported."""
    block = next(node for node in TREE.body if isinstance(node, ast.If))
    return {
        alias.name: node.module or ""
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def table() -> dict[str, str]:
    """Name and module of what is imported when asked for."""
    (names,) = [
        ast.literal_eval(node.value)
        for node in TREE.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_NAMES"
    ]
    return {
        name: f"{package.__name__}.{module}" for module, group in names.items() for name in group
    }


def test_type_checkers_see_the_names_that_the_table_has() -> None:
    assert typed_imports() == table()


def test_all_lists_the_names_of_the_table_once() -> None:
    assert set(package.__all__) == set(table())
    assert len(package.__all__) == len(set(package.__all__))


@pytest.mark.parametrize("name", sorted(table()))
def test_each_name_is_the_object_of_its_module(name: str) -> None:
    assert getattr(package, name) is getattr(importlib.import_module(table()[name]), name)


def test_the_names_of_the_specification_are_there() -> None:
    assert set(package.__all__) >= SEED_NAMES


def test_the_directory_of_the_package_shows_them_all() -> None:
    assert set(dir(package)) >= set(package.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing_of_that_name'"):
        _ = package.nothing_of_that_name  # type: ignore[attr-defined]


def test_a_star_import_of_the_plugin_api_brings_no_hook_along() -> None:
    names: dict[str, object] = {}
    exec("from holodeck_backend_claude.hookspecs import *", names)
    assert {"BackendType", "ToolType", "AdapterOverride", "ToolContext", "hookimpl"} <= names.keys()
    assert not [name for name in names if name.startswith(("holodeck_", "hookspec"))]
