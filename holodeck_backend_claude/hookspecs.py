"""The whole plugin API: three hooks, and the descriptions they return.

A plugin is a module (or object) named by an entry point of the group ``holodeck``. It may define

    HOLODECK_API = 1          # the version of this page it was written for

    @hookimpl
    def holodeck_register_backend(): ...

    @hookimpl
    def holodeck_adapt_tool(): ...

    @hookimpl
    def holodeck_register_reranker(): ...

All hooks take nothing and return frozen descriptions, so that listing plugins runs no tool code
and opens no connection. Wherever a description takes a callable or a class, it also takes an
import string ``"package.module:attribute"``, so that heavy libraries load only when used.

Names (of backends, providers, tool types, rerankers and settings blocks) are 1 to 64 of the
characters ``a-z 0-9 _ - .`` with a letter or digit at both ends. A plugin whose hooks or
descriptions are not sound, or that claims a name another one has, is left out whole.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pluggy

if TYPE_CHECKING:
    from pydantic import BaseModel

    from holodeck_backend_claude.config import Agent, RerankerConfig, ToolConfig
    from holodeck_backend_claude.contract import (
        AgentBackend,
        AskModel,
        Embedder,
        Reranker,
        ShowProgress,
        StoredSessions,
        ToolAdapter,
    )
    from holodeck_backend_claude.registry import Registry

__all__ = [  # without the hooks themselves: a plugin that imports all of it has its own
    "API_VERSION",
    "AdapterFactory",
    "AdapterOverride",
    "BackendType",
    "ConfigClass",
    "ImportString",
    "OpenReranker",
    "OpenSessions",
    "RerankerType",
    "ToolContext",
    "ToolType",
    "hookimpl",
]

PROJECT = "holodeck"
ENTRY_POINT_GROUP = "holodeck"
API_VERSION = 1

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)

ImportString: TypeAlias = str
"""``"package.module:attribute"``, resolved when the thing is first used."""

OpenReranker: TypeAlias = "Callable[[RerankerConfig], AbstractAsyncContextManager[Reranker]]"
"""``open_reranker(model)`` opens the reranker that ``reranker_model`` of a tool names."""


@dataclass(frozen=True)
class ToolContext:
    """What a tool type is given when it opens one tool.

    Attributes:
        base_dir: The folder of agent.yaml; relative paths start here.
        cache_dir: A private folder of this tool below ``.holodeck/``; made by whoever writes first.
        embeddings: Makes the embedder that all tools of the agent share, when first called; None
            where there is none (keyword search is then what is left). It is closed after the tools.
        ask_model: The agent's model without tools; usable once the backend runs.
        progress: ``progress(label, done, total)``, for bars on long work.
        log: The logger of this tool.
        anew: Whether what the tool keeps in ``cache_dir`` is to be made anew.
        open_reranker: ``open_reranker(model)``: an async context manager around the ``Reranker``
            that a ``reranker_model`` names; None where there are none.
    """

    base_dir: Path
    cache_dir: Path
    embeddings: Callable[[], Embedder | None]
    ask_model: AskModel
    progress: ShowProgress
    log: logging.Logger
    anew: bool = False
    open_reranker: OpenReranker | None = None


ConfigClass: TypeAlias = "type[ToolConfig]"
"""A subclass of ``ToolConfig``."""

AdapterFactory: TypeAlias = "Callable[[Any, Any], ToolAdapter | Sequence[ToolAdapter]]"
"""``adapter(config, instance)`` gives one ToolAdapter or several."""


OpenSessions: TypeAlias = "Callable[[Agent], AbstractAsyncContextManager[StoredSessions] | None]"
"""``sessions(agent)`` opens the conversations that an agent has stored."""


@dataclass(frozen=True)
class BackendType:
    """A way to run agents.

    Attributes:
        name: What ``backend:`` in agent.yaml calls it.
        providers: The values of ``model.provider`` it runs by default; may be empty, an agent
            then has to name the backend.
        factory: ``factory(agent, registry) -> AgentBackend``; opens nothing.
        settings_key: The key of its own block in agent.yaml.
        settings: The pydantic model of that block.
        replaces: True to take the name or the providers over from a built-in backend: one of a
            default plugin or of this distribution.
        sessions: ``sessions(agent)``: an async context manager around the conversations that the
            agent has stored, or None where it stores none; None where the backend stores none.
    """

    name: str
    providers: Sequence[str]
    factory: Callable[[Agent, Registry], AgentBackend] | ImportString
    settings_key: str | None = None
    settings: type[BaseModel] | ImportString | None = None
    replaces: bool = False
    sessions: OpenSessions | ImportString | None = None


@dataclass(frozen=True)
class ToolType:
    """A kind of tool that agent.yaml can name.

    Attributes:
        type: The tag in agent.yaml.
        config: A subclass of ``ToolConfig``; what agent.yaml may say about such a tool.
        adapter: ``adapter(config, instance)``: one ToolAdapter or several.
        open: ``open(config, context)``: an async context manager around the live instance
            (an index, a connection); None where nothing is to be opened, ``instance`` is then None.
        instructions: ``instructions(config)``: a line for the system prompt, or None.
        replaces: True to take the tag over from a built-in tool type; the adapters that were
            made for the built-in one on single backends go with it.
        keeps_index: Whether its instances keep an index, which ``holodeck-claude index`` brings
            up to date; they are then a ``KeepsIndex`` of ``tools.indexes``.
    """

    type: str
    config: ConfigClass | ImportString
    adapter: AdapterFactory | ImportString
    open: Callable[[Any, ToolContext], AbstractAsyncContextManager[Any]] | ImportString | None = (
        None
    )
    instructions: Callable[[Any], str | None] | ImportString | None = None
    replaces: bool = False
    keeps_index: bool = False


@dataclass(frozen=True)
class AdapterOverride:
    """Another adapter for an existing tool type on one backend.

    Attributes:
        type: The tag of the tool type.
        backend: The name of the backend.
        adapter: ``adapter(config, instance)``, used there instead of the tool type's own.
    """

    type: str
    backend: str
    adapter: AdapterFactory | ImportString


@dataclass(frozen=True)
class RerankerType:
    """A way to rank the passages that a search found once more.

    Attributes:
        provider: What ``reranker_model.provider`` of a search tool calls it.
        open: ``open(model, context)``: an async context manager around a ``Reranker``; ``model`` is
            ``reranker_model`` of the tool (``provider``, ``name``), ``context`` that of the tool.
        replaces: True to take the name over from a built-in one.
    """

    provider: str
    open: (
        Callable[[RerankerConfig, ToolContext], AbstractAsyncContextManager[Reranker]]
        | ImportString
    )
    replaces: bool = False


@hookspec
def holodeck_register_backend() -> BackendType | Sequence[BackendType]:  # type: ignore[empty-body]
    """Contribute one backend or several."""


@hookspec
def holodeck_adapt_tool() -> (  # type: ignore[empty-body]
    ToolType | AdapterOverride | Sequence[ToolType | AdapterOverride]
):
    """Contribute tool types, or other adapters for existing types on one backend."""


@hookspec
def holodeck_register_reranker() -> (  # type: ignore[empty-body]
    RerankerType | Sequence[RerankerType]
):
    """Contribute one reranker or several."""
