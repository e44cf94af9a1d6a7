"""A real Chroma server on loopback, from the environment of the servers for tests."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.postgres import free_port

_PYTHON = Path(__file__).parents[2] / ".venv-mcp-servers" / "bin" / "python"
_START = "import sys, chromadb_rust_bindings as chroma; chroma.cli(['chroma', *sys.argv[1:]])"
_START_SECONDS = 30.0


@contextmanager
def chroma_server() -> Iterator[str]:
    """The URL of a server for as long as the block lasts."""
    folder = Path(tempfile.mkdtemp(prefix="chroma-", dir="/tmp"))
    port = free_port()
    arguments = ["run", "--path", str(folder), "--host", "127.0.0.1", "--port", str(port)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [str(_PYTHON), "-c", _START, *arguments], stdout=log, stderr=log, cwd=folder
        )
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_for(f"{url}/api/v2/heartbeat", process, folder / "log")
        yield url
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except (urllib.error.URLError, OSError):
            if time.monotonic() > deadline or process.poll() is not None:
                raise RuntimeError(log.read_text(errors="replace")) from None
            time.sleep(0.05)
