"""Adapters over a function, and the tools bound from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from holodeck_backend_claude.calls import BoundTool, bind
from holodeck_backend_claude.contract import JsonSchema, ToolAnnotations
from tests.support.postgres import PostgresServer, postgres_server

ANYTHING: JsonSchema = {"type": "object", "properties": {}}


class Adapter:
    """A tool whose ``call`` is the given function."""

    annotations = ToolAnnotations(read_only=True)

    def __init__(
        self,
        call: Callable[[Any], Any],
        *,
        name: str = "probe",
        schema: Any = None,
        description: str = "A tool under test.",
    ) -> None:
        self.call = call
        self.name = name
        self.description = description
        self.input_schema = ANYTHING if schema is None else schema


@pytest.fixture
def make_adapter() -> Callable[..., Any]:
    """``make_adapter(call, name=…, schema=…)``."""
    return Adapter


@pytest.fixture
def make_tool() -> Callable[..., BoundTool]:
    """``make_tool(call, name=…, schema=…, timeout=…, concurrency=…)``: a bound tool."""

    def make(
        call: Callable[[Any], Any], *, name: str = "probe", schema: Any = None, **settings: Any
    ) -> BoundTool:
        config = SimpleNamespace(name=name, type="test", **settings)
        return bind(Adapter(call, name=name, schema=schema), config)

    return make


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A real PostgreSQL server, one for each process of the tests that asks for it."""
    with postgres_server() as server:
        yield server
