"""Scenarios of the stand-in for the ``claude`` program: what it does, step by step."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, TypeAlias

from tests.faults import fake_claude

Step: TypeAlias = tuple[str, Any]

SESSION = "00000000-0000-4000-8000-000000000001"
VERSION = "2.1.300"


class StandIn:
    """The program, in a folder of a test."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "claude"
        source = Path(fake_claude.__file__).read_text(encoding="utf-8")
        self.path.write_text(f"#!{sys.executable} -IS\n{source}", encoding="utf-8")
        self.path.chmod(0o755)
        self.plays(*well())

    def plays(self, *steps: Step, version: str = f"{VERSION} (Claude Code)") -> None:
        """What it does from its next start on."""
        scenario = {"version": version, "steps": steps}
        Path(f"{self.path}.json").write_text(json.dumps(scenario), encoding="utf-8")

    def is_replaced_by(self, script: str) -> None:
        """It becomes a shell script."""
        self.path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")

    def is_gone(self) -> None:
        """There is no such file any more."""
        self.path.unlink()


def well(text: str = "Hello.") -> tuple[Step, ...]:
    """A turn as it should be."""
    return (("wait_for_message", None), *started(), *spoken(text), result(text))


def started() -> tuple[Step, ...]:
    init = {"subtype": "init", "tools": [], "claude_code_version": VERSION, "model": "fake"}
    return (say("system", **init),)


def spoken(text: str) -> tuple[Step, ...]:
    """The model's answer, as deltas and as a message."""
    return (*delta(text), assistant({"type": "text", "text": text}))


def delta(text: str) -> tuple[Step, ...]:
    """The beginning of an answer."""
    usage = {"input_tokens": 3, "output_tokens": 1}
    piece = {"type": "text_delta", "text": text}
    return (
        event({"type": "message_start", "message": {"id": "msg_1", "usage": usage}}),
        event({"type": "content_block_delta", "index": 0, "delta": piece}),
    )


def event(data: dict[str, Any]) -> Step:
    return say("stream_event", event=data, uuid=SESSION, parent_tool_use_id=None)


def assistant(*blocks: dict[str, Any]) -> Step:
    message = {"id": "msg_1", "role": "assistant", "model": "fake", "content": blocks}
    return say("assistant", message=message, parent_tool_use_id=None)


def tool_result(call_id: str, text: str) -> Step:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": text}
    return say("user", message={"role": "user", "content": [block]}, parent_tool_use_id=None)


def result(text: str | None = None, **other: Any) -> Step:
    known = {
        "subtype": "success",
        "is_error": False,
        "duration_ms": 1,
        "duration_api_ms": 1,
        "num_turns": 1,
        "total_cost_usd": 0.0,
        "usage": {"input_tokens": 3, "output_tokens": 2},
        "result": text,
    }
    return say("result", **{**known, **other})


def say(kind: str, **fields: Any) -> Step:
    return "say", {"type": kind, "session_id": SESSION, **fields}
