"""A destructive tool runs where somebody agrees to it, and its denials are in the result."""

from __future__ import annotations

import asyncio

import pytest

from holodeck_backend_claude.contract import (
    AskPermission,
    ExecutionResult,
    PermissionRequest,
    ToolAnnotations,
)
from holodeck_backend_claude.sk.backend import SKBackend
from holodeck_backend_claude.testing import call_tool, forever, say
from tests.support.probes import Probe, registry_of

from .lab import Lab


async def yes(_request: PermissionRequest) -> bool:
    return True


async def no(_request: PermissionRequest) -> bool:
    return False


async def slow_yes(_request: PermissionRequest) -> bool:
    await asyncio.sleep(1.5)
    return True


async def broken(_request: PermissionRequest) -> bool:
    raise RuntimeError("no terminal")


async def outcome(
    lab: Lab, probe: Probe, ask: AskPermission | None, *, side_effects: bool = True
) -> ExecutionResult:
    api = await lab.api([call_tool("wipe", {"query": "x"}), forever(say("done"))])
    agent = lab.agent(api, probe, execution={"llm_timeout": 1.2})
    registry = registry_of(probe).with_permissions(ask, side_effects=side_effects)
    backend = SKBackend(agent, registry)
    lab._stack.push_async_callback(backend.teardown)
    await backend.initialize()
    return await backend.invoke_once("Go")


def probe(*, destructive: bool) -> Probe:
    made = Probe("wipe")
    made.annotations = ToolAnnotations(destructive=destructive)
    return made


@pytest.mark.parametrize(
    ("ask", "side_effects", "reason"),
    [
        (None, True, "it is marked destructive, and nobody can be asked in this run"),
        (no, True, "the user said no"),
        (broken, True, "no terminal"),
        (yes, False, "side effects are off in this run"),
    ],
)
async def test_a_destructive_tool_does_not_run_unless_somebody_agrees(
    lab: Lab, ask: AskPermission | None, reason: str, *, side_effects: bool
) -> None:
    tool = probe(destructive=True)
    result = await outcome(lab, tool, ask, side_effects=side_effects)
    assert result.response == "done"
    assert tool.calls == []
    (denial,) = result.permission_denials
    assert (denial["name"], denial["arguments"]) == ("wipe", {"query": "x"})
    assert reason in denial["reason"]
    assert result.tool_results[0]["is_error"]


@pytest.mark.parametrize("ask", [yes, slow_yes])
async def test_it_runs_where_somebody_agrees_however_long_they_think(
    lab: Lab, ask: AskPermission
) -> None:
    tool = probe(destructive=True)
    result = await outcome(lab, tool, ask)
    assert result.response == "done"
    assert len(tool.calls) == 1
    assert result.permission_denials == []


async def test_other_tools_ask_nobody(lab: Lab) -> None:
    tool = probe(destructive=False)
    assert (await outcome(lab, tool, no, side_effects=False)).response == "done"
    assert len(tool.calls) == 1
