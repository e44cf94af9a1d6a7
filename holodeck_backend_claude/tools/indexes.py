"""The indexes that tools of an agent keep, brought up to date without a backend."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, Protocol

from holodeck_backend_claude.contract import BackendInitError, HoloDeckError
from holodeck_backend_claude.retrieval import IndexReport
from holodeck_backend_claude.tools.instances import Instances

if TYPE_CHECKING:
    from holodeck_backend_claude.config import Agent, ToolConfig
    from holodeck_backend_claude.registry import Registry

LOOK_SECONDS = 1.0
"""The pause between two looks at documents; nineteen times the time of a look, if that is more."""

LOOK_ON_THE_WEB_SECONDS = 60.0


class KeepsIndex(Protocol):
    """What an open tool is whose type says ``keeps_index``.

    Attributes:
        report: What the index holds, and what was skipped.
    """

    report: IndexReport | None

    async def initialize(self) -> None:
        """Bring the index up to date, and ``report`` with it."""

    async def embedded(self) -> None:
        """Wait for what is still being made since the tool was opened."""


@dataclass(frozen=True)
class Outcome:
    """How the index of one tool is.

    Attributes:
        tool: The name of the tool.
        type: Its type.
        report: What its index holds; None where it could not be brought up to date.
        error: Why it could not.
    """

    tool: str
    type: str
    report: IndexReport | None = None
    error: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether all that was read can be found in every way."""
        return self.report is not None and not self.report.not_embedded

    def says_more_than(self, before: Outcome) -> bool:
        """Whether there is something in it that the one before did not tell."""
        new, old = self.report, before.report
        if new is None or old is None:
            return self.error != before.error
        return bool(
            new.changed
            or new.removed
            or new.skipped != old.skipped
            or new.not_embedded != old.not_embedded
        )


class OpenIndex:
    """The index of one open tool."""

    def __init__(self, config: ToolConfig, kept: KeepsIndex) -> None:
        self._config = config
        self._kept = kept

    async def changes(self, before: Outcome) -> AsyncIterator[Outcome]:
        """Look again and again whether documents changed; yields what there is to tell.

        Args:
            before: What is known already.
        """
        while True:
            started = time.monotonic()
            now = await _outcome(self._config, self._look())
            if now.says_more_than(before):
                yield now
            before = now
            await asyncio.sleep(max(self._pause, 19 * (time.monotonic() - started)))

    @property
    def _pause(self) -> float:
        is_far = str(getattr(self._config, "source", "")).startswith(("http://", "https://"))
        return LOOK_ON_THE_WEB_SECONDS if is_far else LOOK_SECONDS

    async def _look(self) -> IndexReport | None:
        await self._kept.initialize()
        return self._kept.report


class Indexes:
    """Opens tools that keep an index.

    Args:
        instances: Opens and closes them.
        configs: The tools of the agent that keep one, in its order.
    """

    def __init__(self, instances: Instances, configs: tuple[ToolConfig, ...]) -> None:
        self._instances = instances
        self.configs = configs

    async def open(self, config: ToolConfig) -> tuple[OpenIndex | None, Outcome]:
        """Open a tool and bring its index up to date, with every vector.

        Returns:
            The index, None where it could not be opened; and how it is.
        """
        opened: list[OpenIndex] = []

        async def report() -> IndexReport | None:
            kept: KeepsIndex = await self._instances.open(config)
            opened.append(OpenIndex(config, kept))
            await kept.embedded()
            return kept.report

        outcome = await _outcome(config, report())
        return (opened[0] if opened else None), outcome


@asynccontextmanager
async def open_indexes(
    agent: Agent, registry: Registry, *, anew: bool = False
) -> AsyncIterator[Indexes]:
    """The indexes of an agent's tools; whatever was opened is closed at the end.

    Args:
        agent: Whose tools.
        registry: The tool types, and whom to tell of progress.
        anew: Whether everything is made anew.

    Raises:
        BackendInitError: A tool has a type that no plugin provides.
    """
    instances = Instances(agent, registry, ask_model=_no_model, anew=anew)
    try:
        kept = tuple(tool for tool in agent.tools if instances.type_of(tool).keeps_index)
        yield Indexes(instances, kept)
    finally:
        await instances.close()


async def _no_model(_prompt: str) -> NoReturn:
    raise BackendInitError("no model can be asked while only the indexes are brought up to date")


async def _outcome(config: ToolConfig, work: Awaitable[IndexReport | None]) -> Outcome:
    try:
        return Outcome(config.name, config.type, report=await work)
    except HoloDeckError as cause:
        return Outcome(config.name, config.type, error=str(cause))
