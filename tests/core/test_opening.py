"""open_agent: what is opened, what is closed, and who is told."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from holodeck_backend_claude.config import Agent, AgentFileError
from holodeck_backend_claude.contract import (
    BackendInitError,
    ExecutionResult,
    FileInput,
    PluginError,
)
from holodeck_backend_claude.hookspecs import BackendType
from holodeck_backend_claude.opening import open_agent
from holodeck_backend_claude.registry import Origin, Provided, Registry

TEXT = "name: a\nmodel: {provider: probe, name: m}\ninstructions: Hi.\n"


class ProbeBackend:
    """Writes down what is done with it."""

    def __init__(self, agent: Agent, registry: Registry) -> None:
        self.agent = agent
        self.registry = registry
        self.log: list[str] = []
        self.fails_at: str | None = None
        self.in_teardown = asyncio.Event()
        self.may_end = asyncio.Event()
        self.may_end.set()

    async def initialize(self) -> None:
        self.log.append("initialize")
        if self.fails_at == "initialize":
            raise BackendInitError("no key")

    async def invoke_once(
        self,
        message: str,
        context: list[dict[str, Any]] | None = None,
        *,
        files: Sequence[FileInput] = (),
    ) -> ExecutionResult:
        return ExecutionResult(message)

    async def create_session(self, *, resume: str | None = None, fork: bool = False) -> Any:
        raise NotImplementedError

    async def teardown(self) -> None:
        self.in_teardown.set()
        await self.may_end.wait()
        self.log.append("teardown")
        if self.fails_at == "teardown":
            raise RuntimeError("stuck")


class Bench:
    def __init__(self) -> None:
        self.made: list[ProbeBackend] = []
        self.fails_at: str | None = None
        probe = BackendType("probe", ("probe",), self.make)
        self.registry = Registry(backends={"probe": Provided(probe, Origin("p", "d", "1"))})

    def make(self, agent: Agent, registry: Registry) -> ProbeBackend:
        backend = ProbeBackend(agent, registry)
        backend.fails_at = self.fails_at
        self.made.append(backend)
        return backend

    @property
    def log(self) -> list[str]:
        return self.made[0].log


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def agent_file(tmp_path: Path) -> Path:
    (tmp_path / "agent.yaml").write_text(TEXT)
    return tmp_path / "agent.yaml"


async def test_a_file_is_opened_and_closed(bench: Bench, agent_file: Path) -> None:
    async with open_agent(agent_file, registry=bench.registry) as backend:
        assert (await backend.invoke_once("hello")).response == "hello"
        assert bench.log == ["initialize"]
    assert bench.log == ["initialize", "teardown"]


@pytest.mark.parametrize("form", ["text", "folder", "agent"])
async def test_other_ways_to_name_an_agent(bench: Bench, agent_file: Path, form: str) -> None:
    named: Any = {
        "text": str(agent_file),
        "folder": agent_file.parent,
        "agent": Agent.model_validate(
            {"name": "a", "model": {"provider": "probe", "name": "m"}, "instructions": "Hi."}
        ),
    }[form]
    async with open_agent(named, registry=bench.registry):
        assert bench.made[0].agent.name == "a"


async def test_progress_and_ready_tools_reach_the_backend(bench: Bench, agent_file: Path) -> None:
    agent_file.write_text(
        TEXT + "tools: [{type: vectorstore, name: kb, description: d, source: not-there}]\n"
    )
    from holodeck_backend_claude.plugins import load_plugins

    bench.registry.tool_types = load_plugins().registry.tool_types
    ready, seen = object(), []

    def progress(label: str, done: int, total: int) -> None:
        seen.append((label, done, total))

    opening = open_agent(
        agent_file, registry=bench.registry, tools={"kb": ready}, progress=progress
    )
    async with opening:
        given = bench.made[0].registry.given
        assert given.instances["kb"] is ready
        given.progress("indexing", 1, 2)
    assert seen == [("indexing", 1, 2)]


async def test_a_start_that_fails_is_torn_down(bench: Bench, agent_file: Path) -> None:
    bench.fails_at = "initialize"
    with pytest.raises(BackendInitError, match="no key"):
        async with open_agent(agent_file, registry=bench.registry):
            pass
    assert bench.log == ["initialize", "teardown"]


async def test_an_error_in_the_block_wins_over_one_at_the_end(
    bench: Bench, agent_file: Path
) -> None:
    bench.fails_at = "teardown"
    with pytest.raises(KeyError):
        async with open_agent(agent_file, registry=bench.registry):
            raise KeyError
    assert bench.log == ["initialize", "teardown"]


async def test_an_error_at_the_end_is_raised(bench: Bench, agent_file: Path) -> None:
    bench.fails_at = "teardown"
    with pytest.raises(RuntimeError, match="stuck"):
        async with open_agent(agent_file, registry=bench.registry):
            pass


async def test_cancelling_twice_does_not_cut_the_end_short(bench: Bench, agent_file: Path) -> None:
    async def use() -> None:
        async with open_agent(agent_file, registry=bench.registry) as backend:
            assert isinstance(backend, ProbeBackend)
            backend.may_end.clear()
            opened.set()
            await asyncio.Event().wait()

    opened = asyncio.Event()
    task = asyncio.create_task(use())
    await opened.wait()
    task.cancel()
    await bench.made[0].in_teardown.wait()
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    bench.made[0].may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert bench.log == ["initialize", "teardown"]


async def test_a_wrong_file_opens_nothing(bench: Bench, agent_file: Path) -> None:
    agent_file.write_text("name: a\n")
    with pytest.raises(AgentFileError):
        async with open_agent(agent_file, registry=bench.registry):
            pass
    assert bench.made == []


async def test_without_a_registry_the_plugins_that_the_file_allows_are_loaded(
    agent_file: Path,
) -> None:
    agent_file.write_text(TEXT.replace("probe", "anthropic") + "plugins: {block: [claude]}\n")
    with pytest.raises((AgentFileError, PluginError), match=r"blocked by plugins\.block"):
        async with open_agent(agent_file):
            pass
