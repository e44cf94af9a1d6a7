"""An installed distribution with a backend of its own, and an agent that runs on it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

AGENT = """\
name: parrot
model: {provider: echo, name: small}
instructions: Repeat.
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder that, on the path, is an installation of the distribution ``echo-backend``."""
    folder = tmp_path / "site"
    info = folder / "echo_backend-1.5.dist-info"
    info.mkdir(parents=True)
    shutil.copy(Path(__file__).parent / "echo_plugin.py", folder / "echo_plugin.py")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: echo-backend\nVersion: 1.5\n")
    (info / "entry_points.txt").write_text("[holodeck]\necho = echo_plugin\n")
    return folder


@pytest.fixture
def installed(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The distribution is installed in this process."""
    monkeypatch.syspath_prepend(site)
    monkeypatch.delitem(sys.modules, "echo_plugin", raising=False)


@pytest.fixture
def agent_file(tmp_path: Path) -> Path:
    """``agent.yaml`` in a folder of its own, which ``diary.txt`` of the backend goes to."""
    path = tmp_path / "agent" / "agent.yaml"
    path.parent.mkdir()
    path.write_text(AGENT)
    return path


@pytest.fixture
def program(site: Path, tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts ``holodeck-claude`` as a process of its own, with the distribution installed.

    What a failed test left running ends with the test.
    """
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str | Path, **variables: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", "holodeck_backend_claude.cli", *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(site), **variables},
            cwd=tmp_path,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.terminate()
            process.communicate(timeout=20)
