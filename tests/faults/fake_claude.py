"""Stands in for the ``claude`` program: speaks its protocol as a scenario beside it says.

It is copied into a test's folder and started through the launcher, as the real one is. The
scenario, a list of steps, is read anew at each start; ``tests/faults/scenario.py`` writes it.
After the last step it answers control requests until its stdin ends.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

Message = dict[str, Any]


def main() -> None:
    scenario = json.loads(Path(sys.argv[0] + ".json").read_text(encoding="utf-8"))
    if "-v" in sys.argv:
        emit(scenario["version"].encode())
        return
    for name, argument in scenario["steps"]:
        STEPS[name](argument)
    while True:
        request = receive("control_request")
        answer(request, {"subtype": "success", "response": {}})


def receive(kind: str) -> Message:
    """The next message of this kind; the program ends where stdin does."""
    for line in sys.stdin.buffer:
        message: Message = json.loads(line)
        if message.get("type") == kind:
            return message
        if message.get("type") == "control_request":
            answer(message, {"subtype": "success", "response": {}})
    sys.exit(0)


def emit(data: bytes) -> None:
    sys.stdout.buffer.write(data + b"\n")
    sys.stdout.buffer.flush()


def say(message: Message) -> None:
    emit(json.dumps(message).encode())


def answer(request: Message, response: Message) -> None:
    known = {"request_id": request["request_id"], **response}
    say({"type": "control_response", "response": known})


def refuse_to_initialize(error: str) -> None:
    answer(receive("control_request"), {"subtype": "error", "error": error})


def wait_for_message(_: None) -> None:
    receive("user")


def raw(text: str) -> None:
    emit(text.encode())


def long_line(size: int) -> None:
    """A system message of so many bytes, on one line."""
    say({"type": "system", "subtype": "padding", "data": "x" * size, "session_id": "s"})


def stderr(text: str) -> None:
    sys.stderr.buffer.write(text.encode() + b"\n")
    sys.stderr.buffer.flush()


def flood(size: int) -> None:
    """So many bytes on stderr, in lines of a kilobyte, and then as much on one line."""
    lines = (b"x" * 1_023 + b"\n") * 1_024
    for _ in range(size // len(lines) // 2):
        sys.stderr.buffer.write(lines)
    for _ in range(size // len(lines) // 2):
        sys.stderr.buffer.write(b"y" * len(lines))
    sys.stderr.buffer.flush()


def leave(code: int) -> None:
    sys.stdout.buffer.flush()
    os._exit(code)


def kill_itself(_: None) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def hang(_: None) -> None:
    while True:
        time.sleep(1)


def ignore_signals(_: None) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def spawn(_: None) -> None:
    """A child that outlives this program, and holds none of its pipes."""
    subprocess.Popen(
        ["/bin/sh", "-c", "trap '' TERM HUP; sleep 300"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def close_stdout(_: None) -> None:
    os.close(1)


STEPS: dict[str, Any] = {
    "refuse_to_initialize": refuse_to_initialize,
    "wait_for_message": wait_for_message,
    "say": say,
    "raw": raw,
    "long_line": long_line,
    "stderr": stderr,
    "flood": flood,
    "leave": leave,
    "kill_itself": kill_itself,
    "hang": hang,
    "ignore_signals": ignore_signals,
    "spawn": spawn,
    "close_stdout": close_stdout,
}

if __name__ == "__main__":
    main()
