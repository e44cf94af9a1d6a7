"""Observability that is off costs nothing, and one inside of a traced program joins it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

AGENT = """\
name: helper
model: {{provider: {provider}, name: m, api_key: sk-a-key-for-tests, endpoint: "{{url}}"}}
instructions: Help.
observability: {{enabled: {enabled}, exporters: {{console: {{}}}}}}
"""

PROGRAM = """\
import asyncio, sys
from pathlib import Path

asked = []

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "opentelemetry":
            frame = sys._getframe(1)
            while frame and "importlib" in frame.f_code.co_filename:
                frame = frame.f_back
            while frame and frame.f_globals.get("__name__", "").startswith("opentelemetry"):
                frame = frame.f_back
            asked.append(frame.f_globals.get("__name__", "") if frame else "")
        return None

sys.meta_path.insert(0, Finder())
from holodeck_backend_claude import open_agent
from holodeck_backend_claude.testing import {api}, forever, say

async def main():
    async with {api}(forever(say("ok"))) as api:
        Path("agent.yaml").write_text({agent!r}.replace("{{url}}", api.{url}))
        async with open_agent("agent.yaml") as backend:
            print((await backend.invoke_once("Hi")).response)

asyncio.run(main())
print([name for name in asked if name.startswith("holodeck_backend_claude")])
{report}
"""


def run(program: str, folder: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("provider", "api", "url"),
    [("anthropic", "ScriptedMessagesAPI", "url"), ("openai", "ScriptedOpenAIAPI", "base_url")],
)
def test_a_run_without_observability_imports_nothing_of_opentelemetry(
    tmp_path: Path, provider: str, api: str, url: str
) -> None:
    agent = AGENT.format(provider=provider, enabled="false")
    # Claude's SDK and Semantic Kernel ask for its small interface by themselves
    heavy = '[m for m in sys.modules if m.startswith(("opentelemetry.sdk", "opentelemetry.exp"))]'
    program = PROGRAM.format(api=api, url=url, agent=agent, report=f"print({heavy})")

    answer, ours, loaded = run(program, tmp_path)
    assert (answer, ours) == ("ok", "[]")
    if provider == "anthropic":
        assert loaded == "[]"


def test_a_program_that_traces_gets_the_spans_below_its_own(tmp_path: Path) -> None:
    setup = """\
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
kept = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(kept))
trace.set_tracer_provider(provider)
"""
    agent = AGENT.format(provider="anthropic", enabled="true")
    program = setup + PROGRAM.format(
        api="ScriptedMessagesAPI",
        url="url",
        agent=agent,
        report="spans = {s.name: s for s in kept.get_finished_spans()}\n"
        "mine, theirs = spans['mine'], spans['invoke_agent helper']\n"
        "print(theirs.parent.span_id == mine.context.span_id)\n",
    ).replace(
        "            print((await backend",
        "            with trace.get_tracer('mine').start_as_current_span('mine'):\n"
        "              print((await backend",
    )

    out = run(program, tmp_path)
    assert out[0] == "ok"
    assert out[-1] == "True"
