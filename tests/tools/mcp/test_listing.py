"""What a server offers: page by page, and one bad tool takes no good one along."""

from __future__ import annotations

from typing import Any

import pytest

from holodeck_backend_claude.contract import BackendInitError
from holodeck_backend_claude.tools.mcp import listing

from .conftest import Bench


def tool(name: Any, schema: Any = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"} if schema is None else schema, **more}


async def test_all_pages_are_read(bench: Bench) -> None:
    tools = await bench.tools(bench.raw({"tools": [tool(f"t{n}") for n in range(500)], "page": 60}))
    assert list(tools) == [f"raw_t{n}" for n in range(500)]
    assert len(bench.got("tools/list")) == 9


async def test_a_list_without_end_is_an_error(bench: Bench) -> None:
    with pytest.raises(BackendInitError, match="MCP server failed: raw: its list does not come"):
        await bench.open(bench.raw({"loop": True}))


async def test_of_many_bad_tools_a_few_are_named_and_the_others_counted(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bad = [{"name": f"b{n}"} for n in range(9)]
    tools = await bench.tools(bench.raw({"tools": [*bad, tool("good")], "page": 4}))
    assert list(tools) == ["raw_good"]
    warnings = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert len(warnings) == 6
    assert "tool 'b4' of the MCP server 'raw'" in warnings[4]
    assert warnings[5].startswith("left out: 4 more tools of the MCP server 'raw'")


async def test_a_list_of_bad_tools_alone_is_given_up(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "MOST_BAD_ITEMS", 3)
    bad = [{"name": f"b{n}"} for n in range(20)]
    assert await bench.tools(bench.raw({"tools": bad, "page": 2})) == {}
    assert len(bench.got("tools/list")) == 2


async def test_a_list_of_too_many_pages_is_an_error(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "MOST_PAGES", 2)
    offered = [tool(f"t{n}") for n in range(5)]
    with pytest.raises(BackendInitError, match=r"its list .* has over 2 pages"):
        await bench.open(bench.raw({"tools": offered, "page": 1}))


async def test_more_tools_than_anybody_needs_are_cut_with_a_warning(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(listing, "MOST_ITEMS", 3)
    tools = await bench.tools(bench.raw({"tools": [tool(f"t{n}") for n in range(5)], "page": 2}))
    assert list(tools) == ["raw_t0", "raw_t1", "raw_t2"]
    assert "lists more than 3 tools" in caplog.text


async def test_each_bad_tool_is_named_and_the_good_ones_stay(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    recursive = {
        "type": "object",
        "properties": {"node": {"$ref": "#/$defs/node"}},
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
    }
    offered = [
        tool("recursive", recursive),
        tool("no_type", {"properties": {"a": {"type": "string"}}}),
        tool("nothing", {}),
        tool("far_ref", {"type": "object", "properties": {"a": {"$ref": "http://x.test/y"}}}),
        tool("root_any", {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
        tool("parameter", {"type": "object", "properties": {"not legal!": {}}}),
        tool("schema_text", "object"),
        tool(None),
        "not a tool",
        tool("task", execution={"taskSupport": "required"}),
        tool("twice"),
        tool("twice"),
    ]
    tools = await bench.tools(bench.raw({"tools": offered}))
    assert list(tools) == ["raw_recursive", "raw_no_type", "raw_nothing", "raw_twice"]
    for name in ("far_ref", "root_any", "parameter", "schema_text", "None", "not a tool", "task"):
        assert any(name in r.getMessage() for r in caplog.records if r.levelname == "WARNING"), name
    assert "'raw' lists the tool 'twice' twice" in caplog.text


async def test_a_server_whose_tools_are_all_bad_is_an_error(bench: Bench) -> None:
    bad = tool("bad", {"type": "object", "anyOf": [{}, {}]})
    with pytest.raises(BackendInitError, match=r"tool 'raw' \(mcp\), 'raw_bad': input schema at"):
        await bench.open(bench.raw({"tools": [bad]}))


async def test_description_and_hints_are_the_servers(bench: Bench) -> None:
    hints = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True}
    offered = [
        tool("a", description="Does a.", annotations=hints),
        tool("b", title="The B"),
        tool("c", description="   "),
    ]
    tools = await bench.tools(bench.raw({"tools": offered}))
    assert [t.description for t in tools.values()] == ["Does a.", "The B", "The tool 'c' of 'raw'."]
    seen = tools["raw_a"].annotations
    assert (seen.read_only, seen.destructive, seen.idempotent, seen.open_world) == (
        True, False, True, None,
    )  # fmt: skip
    assert tools["raw_b"].annotations.read_only is None


async def test_names_that_are_not_legal_are_made_so_and_stay_apart(bench: Bench) -> None:
    offered = [tool("a.b"), tool("a_b"), tool("a/b"), tool("größe")]
    tools = await bench.tools(bench.raw({"tools": offered}))
    names = list(tools)
    assert len(set(names)) == 4
    assert names[1] == "raw_a_b"
    assert all(name.replace("_", "").replace("-", "").isalnum() for name in names)
    assert all(name.isascii() for name in names)


async def test_two_servers_may_have_tools_of_one_name(bench: Bench) -> None:
    offered = {"tools": [tool("read")]}
    tools = await bench.tools(bench.raw(offered, name="a"), bench.raw(offered, name="b"))
    assert list(tools) == ["a_read", "b_read"]


async def test_names_that_would_be_one_are_an_error_naming_both_servers(bench: Bench) -> None:
    one = bench.raw({"tools": [tool("b_c")]}, name="a")
    other = bench.raw({"tools": [tool("c")]}, name="a_b")
    with pytest.raises(BackendInitError, match=r"tool 'a' \(mcp\) and tool 'a_b' \(mcp\) both"):
        await bench.open(one, other)


async def test_load_tools_off_asks_for_none(bench: Bench) -> None:
    tools = await bench.tools(bench.raw(load_tools=False, load_prompts=True))
    assert tools == {}
    assert bench.got("tools/list") == []


async def test_a_server_that_has_no_tools_is_not_asked_for_them(bench: Bench) -> None:
    assert await bench.tools(bench.raw({"capabilities": {}})) == {}
    assert bench.got("tools/list") == []


async def test_what_agent_yaml_says_about_the_server_is_in_the_system_prompt(
    bench: Bench,
) -> None:
    opened = await bench.open(bench.raw(description="The files of the shop."))
    assert opened.system_prompt == "Be brief.\n\nThe tools of 'raw': The files of the shop."
