"""How long ``holodeck-claude --help`` takes beside a bare interpreter, and what a plugin costs.

    python benchmarks/startup.py

Prints medians and exits with 1 if a limit is missed: ``--help`` may take 0.15 s longer than
``python -c pass`` or 6 times as long, whichever is more; each of 200 plugins may add 1 ms to
loading, beside its own import.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 15
LONGER_SECONDS = 0.15
LONGER_TIMES = 6.0
PLUGINS = 200
PLUGIN_MILLISECONDS = 1.0

PLUGIN = """
from holodeck_backend_claude.hookspecs import ToolType, hookimpl

HOLODECK_API = 1

@hookimpl
def holodeck_adapt_tool():
    return ToolType("kind-{number}", config="many.models:Config", adapter="many.models:adapt")
"""
METADATA = "Metadata-Version: 2.1\nName: many-{number}\nVersion: 1.0\n\n" + "About it.\n" * 200

LOAD = """
import json, time
import holodeck_backend_claude.plugins as plugins
started = time.perf_counter()
loaded = plugins.load_plugins(environ={}, quiet=True)
took = time.perf_counter() - started
infos = [info for info in loaded.infos if info.distribution.startswith("many-")]
assert all(info.state == "loaded" for info in infos), infos
print(json.dumps({"plugins": len(infos), "took": took,
                  "imports": sum(info.import_seconds or 0.0 for info in loaded.infos)}))
"""


def main() -> int:
    """Measure, print, and tell whether the limits hold."""
    help_is_quick = _measure_help()
    plugins_are_cheap = _measure_plugins()
    return 0 if help_is_quick and plugins_are_cheap else 1


def _measure_help() -> bool:
    nothing = [sys.executable, "-c", "pass"]
    command = [str(Path(sys.executable).parent / "holodeck-claude"), "--help"]
    pairs = [(_seconds(nothing), _seconds(command)) for _ in range(RUNS)]  # by turns: same weather
    bare_median: float = statistics.median(bare for bare, _ in pairs)
    help_median: float = statistics.median(helped for _, helped in pairs)
    limit = max(bare_median + LONGER_SECONDS, bare_median * LONGER_TIMES)
    holds = help_median <= limit
    print(f"Start-up, medians of {RUNS} runs by turns:")
    print(f"  python -c pass          {bare_median:.3f} s")
    print(f"  holodeck-claude --help  {help_median:.3f} s")
    print(
        f"  difference {help_median - bare_median:.3f} s, ratio {help_median / bare_median:.1f}; "
        f"limit {limit:.3f} s: {_verdict(holds)}"
    )
    return holds


def _measure_plugins() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        _install_many(Path(folder))
        with_many = [_load(folder) for _ in range(RUNS)]
        without = [_load(None) for _ in range(RUNS)]
    many: float = statistics.median(with_many)
    few: float = statistics.median(without)
    each = (many - few) / PLUGINS * 1000
    holds = each < PLUGIN_MILLISECONDS
    print(f"Loading, medians of {RUNS} runs, the plugins' own imports taken off:")
    print(f"  as installed            {few * 1000:.1f} ms")
    print(f"  with {PLUGINS} more plugins   {many * 1000:.1f} ms")
    print(f"  {each:.3f} ms for each plugin; limit {PLUGIN_MILLISECONDS} ms: {_verdict(holds)}")
    return holds


def _seconds(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def _install_many(folder: Path) -> None:
    for number in range(PLUGINS):
        (folder / f"many_{number}.py").write_text(PLUGIN.format(number=number), encoding="utf-8")
        info = folder / f"many_{number}-1.0.dist-info"
        info.mkdir()
        info.joinpath("METADATA").write_text(METADATA.format(number=number), encoding="utf-8")
        info.joinpath("entry_points.txt").write_text(
            f"[holodeck]\nmany-{number} = many_{number}\n", encoding="utf-8"
        )


def _load(folder: str | None) -> float:
    """Seconds of one load in a fresh process, without the imports."""
    environment = {**os.environ, **({"PYTHONPATH": folder} if folder else {})}
    done = subprocess.run(
        [sys.executable, "-c", LOAD], env=environment, check=True, capture_output=True, text=True
    )
    told = json.loads(done.stdout)
    expected = PLUGINS if folder else 0
    if told["plugins"] != expected:
        raise SystemExit(f"expected {expected} extra plugins and found {told['plugins']}")
    return float(told["took"] - told["imports"])


def _verdict(holds: bool) -> str:
    return "ok" if holds else "MISSED"


if __name__ == "__main__":
    sys.exit(main())
