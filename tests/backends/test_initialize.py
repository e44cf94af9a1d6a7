"""What ``initialize()`` of every backend promises: the same error for the same fault, once open."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holodeck_backend_claude.config import Instructions
from holodeck_backend_claude.contract import (
    BackendInitError,
    BackendSessionError,
    PluginError,
)

from .stage import Stage


async def test_two_tools_of_one_name_on_the_wire_are_both_named_and_closed(stage: Stage) -> None:
    backend = stage.backend("my tool", "my_tool")
    with pytest.raises(BackendInitError, match=r"'my tool' \(probe\) and .*'my_tool' .*rename"):
        await backend.initialize()
    assert sorted(stage.events) == [
        "close my tool", "close my_tool", "open my tool", "open my_tool",
    ]  # fmt: skip


async def test_instructions_that_cannot_be_read_are_named_before_a_tool_opens(
    stage: Stage,
) -> None:
    (stage.folder / "latin.txt").write_bytes(b"caf\xe9")
    for name in ("gone.md", "latin.txt"):
        instructions = Instructions(file=name)
        with pytest.raises(BackendInitError, match=rf"instructions\.file '{name}' cannot be read"):
            await stage.backend("kb", instructions=instructions).initialize()
    assert stage.events == []


async def test_a_tool_whose_instructions_are_no_text_is_named(stage: Stage) -> None:
    backend = stage.backend("kb", tool_instructions=lambda _config: 5)
    with pytest.raises(BackendInitError, match=r"tool 'kb' \(probe\).*instructions.*int"):
        await backend.initialize()
    assert stage.events == ["open kb", "close kb"]


async def test_a_broken_plugin_is_an_error_of_the_start_like_any_other(stage: Stage) -> None:
    def adapt(_config: Any, _instance: Any) -> Any:
        raise PluginError("this plugin is broken")

    with pytest.raises(BackendInitError, match=r"tool 'kb' \(probe\).*this plugin is broken"):
        await stage.backend("kb", adapter=adapt).initialize()


async def test_initializing_again_or_at_the_same_time_opens_nothing_twice(stage: Stage) -> None:
    backend = stage.backend("kb")
    await asyncio.gather(backend.initialize(), backend.initialize())
    await backend.initialize()
    assert stage.events == ["open kb"]
    await backend.teardown()
    assert stage.events == ["open kb", "close kb"]


async def test_what_failed_to_start_can_be_started_once_the_cause_is_gone(stage: Stage) -> None:
    instructions = Instructions(file="late.md")
    backend = stage.backend("kb", instructions=instructions)
    with pytest.raises(BackendInitError):
        await backend.initialize()
    with pytest.raises(BackendSessionError, match=r"call initialize\(\) first"):
        await backend.invoke_once("Hi")
    (stage.folder / "late.md").write_text("Be brief.", encoding="utf-8")
    await backend.initialize()
    await backend.teardown()
    assert stage.events == ["open kb", "close kb"]


async def test_a_backend_that_was_torn_down_can_be_initialized_again(stage: Stage) -> None:
    backend = stage.backend("kb")
    await backend.initialize()
    await backend.teardown()
    with pytest.raises(BackendSessionError, match="torn down"):
        await backend.create_session()
    await backend.initialize()
    await backend.teardown()
    assert stage.events == ["open kb", "close kb"] * 2
