"""What may be used from outside, and what merely naming the tool types loads."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from holodeck_backend_claude import tools
from holodeck_backend_claude.hookspecs import ToolType
from holodeck_backend_claude.imports import resolve
from holodeck_backend_claude.tools import plugin


def tool_types() -> dict[str, ToolType]:
    return {tool_type.type: tool_type for tool_type in plugin.holodeck_adapt_tool()}


def test_every_name_of_the_front_door_can_be_imported() -> None:
    assert sorted(tools.__all__) == sorted(tools._MODULES)
    for name in tools.__all__:
        assert getattr(tools, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = tools.no_such_name


def test_the_plugin_says_which_api_it_was_written_for() -> None:
    assert plugin.HOLODECK_API == 1


def test_the_vectorstore_is_registered_by_import_strings() -> None:
    vectorstore = tool_types()["vectorstore"]
    for reference in (vectorstore.config, vectorstore.adapter, vectorstore.open):
        assert isinstance(reference, str)
    assert resolve(vectorstore.adapter) is tools.VectorSearchAdapter
    assert callable(resolve(vectorstore.open))


def test_naming_the_tool_types_loads_no_library() -> None:
    program = """
        import sys
        from holodeck_backend_claude.tools import plugin
        plugin.holodeck_adapt_tool()
        heavy = {"claude_agent_sdk", "semantic_kernel", "mcp", "jsonschema", "numpy", "pydantic"}
        print(sorted(heavy & set(sys.modules)))
    """
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert ended.stdout == "[]\n"


def test_calling_tools_loads_neither_sdk_nor_semantic_kernel() -> None:
    program = """
        import sys
        from holodeck_backend_claude import tools
        for name in tools.__all__:
            getattr(tools, name)
        heavy = {"claude_agent_sdk", "semantic_kernel", "mcp", "numpy"}
        print(sorted(heavy & set(sys.modules)))
    """
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert ended.stdout == "[]\n"
