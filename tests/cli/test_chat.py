"""``holodeck-claude chat``, in a pipe and on a terminal."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

Program = Callable[..., subprocess.Popen[bytes]]


def diary(agent_file: Path) -> list[str]:
    return (agent_file.parent / "diary.txt").read_text().split()


class TestInAPipe:
    def say(self, program: Program, agent_file: Path, text: bytes) -> tuple[int, str, str]:
        process = program("chat", agent_file)
        out, err = process.communicate(text)
        assert b"Traceback" not in err
        return process.returncode, out.decode(), err.decode()

    def test_each_line_is_a_turn_of_one_session(self, program: Program, agent_file: Path) -> None:
        code, out, err = self.say(program, agent_file, b"one\n\n   \ntwo\n")
        assert (code, out, err) == (0, "turn 1: one\nturn 2: two\n", "")
        assert diary(agent_file) == ["initialize", "close", "teardown"]

    def test_the_last_line_needs_no_line_end(self, program: Program, agent_file: Path) -> None:
        assert self.say(program, agent_file, b"one")[1] == "turn 1: one\n"

    def test_exit_ends_it(self, program: Program, agent_file: Path) -> None:
        assert self.say(program, agent_file, b"one\n/exit\ntwo\n")[1] == "turn 1: one\n"

    def test_tool_calls_and_retries_go_to_stderr(self, program: Program, agent_file: Path) -> None:
        code, out, err = self.say(program, agent_file, b"tool\n")
        assert (code, out) == (0, "turn 1: tool\n")
        assert err.splitlines() == [
            "  overloaded; trying again in 0.5 s (attempt 1)",
            '  kb_search(query="refunds")',
            "  kb_search gave: 30 days (and 1 more lines)",
        ]

    def test_a_turn_that_fails_is_told_and_the_chat_goes_on(
        self, program: Program, agent_file: Path
    ) -> None:
        code, out, err = self.say(program, agent_file, b"fail\ntwo\n")
        assert (code, out) == (1, "so far\nturn 2: two\n")
        assert err == "Error: rate limited: come back later\n"

    def test_a_session_that_cannot_go_on_ends_it(self, program: Program, agent_file: Path) -> None:
        code, out, err = self.say(program, agent_file, b"die\ntwo\n")
        assert (code, out) == (1, "")
        assert "it is dead" in err
        assert diary(agent_file) == ["initialize", "close", "teardown"]

    def test_bytes_that_are_not_utf8_are_no_traceback(
        self, program: Program, agent_file: Path
    ) -> None:
        assert self.say(program, agent_file, b"caf\xe9\n")[0] == 0

    def test_a_start_that_fails_is_exit_code_2(self, program: Program, agent_file: Path) -> None:
        agent_file.write_text(agent_file.read_text() + "echo: {start: badly}\n")
        code, _out, err = self.say(program, agent_file, b"one\n")
        assert code == 2
        assert "Error: there is no credential for Echo" in err
        assert diary(agent_file) == ["initialize", "teardown"]

    def test_ctrl_c_stops_a_turn_and_the_chat_goes_on(
        self, program: Program, agent_file: Path
    ) -> None:
        process = program("chat", agent_file)
        assert process.stdin
        process.stdin.write(b"hang\n")
        process.stdin.flush()
        while not (agent_file.parent / "diary.txt").exists() or "hanging" not in diary(agent_file):
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(b"two\n")
        assert out == b"waiting\nturn 2: two\n"
        assert err == b"  stopped\n"
        assert process.returncode == 0
        assert diary(agent_file) == ["initialize", "hanging", "stopped", "close", "teardown"]

    @pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
    def test_a_signal_ends_it_with_everything_closed(
        self, number: signal.Signals, code: int, program: Program, agent_file: Path
    ) -> None:
        process = program("chat", agent_file)
        assert process.stdin
        assert process.stdout
        process.stdin.write(b"one\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"turn 1: one\n"
        process.send_signal(number)
        process.communicate()
        assert process.returncode == code
        assert diary(agent_file) == ["initialize", "close", "teardown"]

    @pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
    def test_a_signal_ends_a_chat_whose_event_loop_is_blocked(
        self, number: signal.Signals, code: int, program: Program, agent_file: Path
    ) -> None:
        process = program("chat", agent_file)
        self.begin_to_block(process, agent_file)
        process.send_signal(number)
        _out, err = process.communicate()
        assert process.returncode == code
        assert b"blocks the event loop" in err
        assert b"Traceback" not in err

    def test_ctrl_c_says_when_a_turn_cannot_be_stopped_and_the_next_one_ends_the_chat(
        self, program: Program, agent_file: Path
    ) -> None:
        process = program("chat", agent_file)
        self.begin_to_block(process, agent_file)
        process.send_signal(signal.SIGINT)
        assert process.stderr
        assert b"Ctrl-C again ends the chat" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        process.communicate()
        assert process.returncode == 130

    def begin_to_block(self, process: subprocess.Popen[bytes], agent_file: Path) -> None:
        assert process.stdin
        process.stdin.write(b"block\n")
        process.stdin.flush()
        while not (agent_file.parent / "diary.txt").exists() or "blocking" not in diary(agent_file):
            time.sleep(0.02)


_ON_ITS_TERMINAL = """
import fcntl, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from holodeck_backend_claude.cli import main
sys.exit(main(sys.argv[1:]))
"""


class Terminal:
    """The program with a terminal for stdin, stdout and stderr."""

    def __init__(self, site: Path, *arguments: str) -> None:
        self.text = ""
        self._main, side = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", _ON_ITS_TERMINAL, *arguments],
            stdin=side,
            stdout=side,
            stderr=side,
            env={**os.environ, "PYTHONPATH": str(site), "TERM": "xterm"},
            start_new_session=True,
        )
        os.close(side)

    def type(self, text: str) -> None:
        os.write(self._main, text.encode())

    def expect(self, text: str, *, times: int = 1) -> None:
        while self.text.count(text) < times:
            ready, _, _ = select.select([self._main], [], [], 30)
            assert ready, f"{text!r} did not come; there is: {self.text!r}"
            self.text += os.read(self._main, 4096).decode(errors="replace")

    def press(self, key: str, *, until: str) -> None:
        """Press a key again and again, as a user would: readline misses one while it draws."""
        while until not in self.text:
            self.type(key)
            ready, _, _ = select.select([self._main], [], [], 0.5)
            if ready:
                self.text += os.read(self._main, 4096).decode(errors="replace")

    def end(self) -> int:
        with suppress(OSError):
            while chunk := os.read(self._main, 4096):
                self.text += chunk.decode(errors="replace")
        os.close(self._main)
        return self.process.wait(30)


@pytest.fixture
def terminal(site: Path, agent_file: Path) -> Iterator[Terminal]:
    terminal = Terminal(site, "chat", str(agent_file))
    yield terminal
    if terminal.process.poll() is None:
        terminal.process.kill()
        terminal.process.wait()


class TestOnATerminal:
    def test_it_says_how_to_leave_and_shows_answers_as_they_come(self, terminal: Terminal) -> None:
        terminal.expect("Ctrl-D or /exit ends the chat")
        terminal.expect("> ")
        terminal.type("one\n")
        terminal.expect("turn 1: one")
        terminal.expect("> ", times=2)
        terminal.type("/exit\n")
        assert terminal.end() == 0
        assert "Traceback" not in terminal.text

    def test_tool_calls_are_dimmed(self, terminal: Terminal) -> None:
        terminal.expect("> ")
        terminal.type("tool\n")
        terminal.expect('\x1b[2m  kb_search(query="refunds")\x1b[0m')
        terminal.expect("turn 1: tool")
        terminal.expect("> ", times=2)
        terminal.type("\x04")
        assert terminal.end() == 0

    def test_ctrl_d_ends_it(self, terminal: Terminal, agent_file: Path) -> None:
        terminal.expect("> ")
        terminal.type("\x04")
        assert terminal.end() == 0
        assert diary(agent_file) == ["initialize", "close", "teardown"]

    def test_ctrl_c_stops_an_answer_and_not_the_chat(
        self, terminal: Terminal, agent_file: Path
    ) -> None:
        terminal.expect("> ")
        terminal.type("hang\n")
        terminal.expect("waiting")
        terminal.type("\x03")
        terminal.expect("stopped")
        terminal.type("two\n")
        terminal.expect("turn 2: two")
        terminal.expect("> ", times=3)
        terminal.type("\x04")
        assert terminal.end() == 0
        assert diary(agent_file) == ["initialize", "hanging", "stopped", "close", "teardown"]

    def test_ctrl_c_at_the_prompt_throws_the_line_away(self, terminal: Terminal) -> None:
        terminal.expect("> ")
        terminal.type("half a li")
        terminal.expect("half a li")
        terminal.press("\x03", until="(Ctrl-D or /exit ends the chat)")
        terminal.expect("> ", times=2)
        terminal.type("one\n")
        terminal.expect("turn 1: one")
        terminal.type("/exit\n")
        assert terminal.end() == 0

    def test_control_sequences_of_a_model_do_not_reach_the_terminal(
        self, terminal: Terminal
    ) -> None:
        terminal.expect("> ")
        terminal.type("\x16\x1b[31mred\n")
        terminal.expect("�[31mred")
        terminal.type("/exit\n")
        assert terminal.end() == 0
