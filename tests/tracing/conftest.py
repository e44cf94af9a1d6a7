"""A lab of each backend, and a receiver of what it traces."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from holodeck_backend_claude.config import ObservabilityConfig
from tests.e2e import lab as claude
from tests.sk import lab as sk
from tests.support.otlp import OTLPReceiver

Lab: TypeAlias = claude.Lab | sk.Lab
OURS = "holodeck_backend_claude"


@pytest.fixture
async def receiver() -> AsyncIterator[OTLPReceiver]:
    async with OTLPReceiver() as receiver:
        yield receiver


@pytest.fixture(params=["claude", "semantic_kernel"])
async def lab(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Lab]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("private-folders")))
    kind: type[Lab] = claude.Lab if request.param == "claude" else sk.Lab
    async with AsyncExitStack() as stack:
        yield kind(tmp_path, stack)


@pytest.fixture
def claude_lab(lab: Lab) -> claude.Lab:
    """For tests with ``@on_claude``."""
    assert isinstance(lab, claude.Lab)
    return lab


on_claude = pytest.mark.parametrize("lab", ["claude"], indirect=True)
on_semantic_kernel = pytest.mark.parametrize("lab", ["semantic_kernel"], indirect=True)


def sending_to(receiver: OTLPReceiver, **blocks: Any) -> ObservabilityConfig:
    """An ``observability:`` that sends to the receiver over HTTP."""
    otlp = {"protocol": "http", "endpoint": receiver.url, **blocks.pop("otlp", {})}
    return ObservabilityConfig(enabled=True, exporters={"otlp": otlp}, **blocks)
