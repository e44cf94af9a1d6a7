"""Names of tools on the wire."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from holodeck_backend_claude.calls import bind, legal_name, wire_names
from holodeck_backend_claude.calls.names import folder_name
from holodeck_backend_claude.contract import BackendInitError

PREFIX = "mcp__holodeck_tools__"


@pytest.fixture
def tool(make_adapter: Callable[..., Any]) -> Callable[[str], Any]:
    def make(name: str) -> Any:
        return bind(make_adapter(lambda _call: None, name=name), origin=f"tool '{name}' (test)")

    return make


def test_a_legal_name_stays_and_maps_back_to_its_tool(tool: Callable[[str], Any]) -> None:
    kb, docs = tool("kb_search"), tool("Docs-2_search")
    assert wire_names([kb, docs], PREFIX) == {"kb_search": kb, "Docs-2_search": docs}


@pytest.mark.parametrize(
    ("name", "wire"),
    [("my tool.v2", "my_tool_v2"), ("a/b:c", "a_b_c"), ("Büro", "Buro")],
)
def test_other_characters_are_replaced(name: str, wire: str) -> None:
    assert legal_name(name) == wire


@pytest.mark.parametrize("name", ["搜索_search", "поиск", "🔎", "", "x" * 300, "straße"])
def test_what_is_lost_is_kept_apart_by_a_hash_within_the_budget(name: str) -> None:
    wire = legal_name(name, 43)
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,43}", wire)
    assert wire == legal_name(name, 43)
    assert wire != legal_name(name + "索", 43)


def test_prefix_and_name_together_keep_to_the_limit(tool: Callable[[str], Any]) -> None:
    names = wire_names([tool("x" * 80), tool("x" * 80 + "y")], PREFIX)
    assert len(names) == 2
    assert all(len(PREFIX + name) == 64 for name in names)


def test_a_clash_fails_naming_both_origins_and_what_to_do(tool: Callable[[str], Any]) -> None:
    with pytest.raises(BackendInitError) as caught:
        wire_names([tool("my tool"), tool("my_tool")], PREFIX)
    text = str(caught.value)
    assert "tool 'my tool' (test)" in text
    assert "tool 'my_tool' (test)" in text
    assert "rename one of them" in text


def test_a_prefix_that_leaves_no_room_is_an_error(tool: Callable[[str], Any]) -> None:
    with pytest.raises(BackendInitError, match="shorter name"):
        wire_names([tool("kb")], "mcp__" + "s" * 60 + "__")


def test_folder_names_differ_wherever_the_names_do() -> None:
    names = ["kb", "KB", "k b", "k_b", "../kb", "kb.", "", "büro", "buro", "con/"]
    folders = [folder_name(name) for name in names]
    assert len({folder.lower() for folder in folders}) == len(names)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", folder) for folder in folders)
    assert folders[0] == "kb"
