"""``holodeck-claude run``."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from holodeck_backend_claude.cli import main

Program = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    """Puts these bytes into a pipe that is stdin."""

    def put(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return put


def diary(agent_file: Path) -> list[str]:
    return (agent_file.parent / "diary.txt").read_text().split()


def wait_for_diary(agent_file: Path, line: str) -> None:
    file = agent_file.parent / "diary.txt"
    while not (file.exists() and line in file.read_text()):
        time.sleep(0.02)


@pytest.mark.usefixtures("installed")
class TestAnAnswer:
    def test_is_all_that_stdout_gets(
        self, agent_file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        agent_file.write_text(agent_file.read_text() + "deployment: {}\n")
        assert main(["run", str(agent_file), "hello"]) == 0
        captured = capsys.readouterr()
        assert captured.out == "echo: hello\n"
        assert "Note: " in captured.err
        assert "deployment" in captured.err
        assert diary(agent_file) == ["initialize", "teardown"]

    def test_comes_for_a_question_without_quotes(
        self, agent_file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["run", str(agent_file), "how", "long", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["response"] == "echo: how long"

    def test_as_json_is_the_whole_result(
        self, agent_file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["run", str(agent_file), "hello", "--json"]) == 0
        result = json.loads(capsys.readouterr().out)
        assert result["response"] == "echo: hello"
        assert result["token_usage"] == {"total_tokens": 3}
        assert result["is_error"] is False

    @pytest.mark.parametrize("arguments", [[], ["-"]])
    def test_comes_for_a_question_on_stdin(
        self,
        arguments: list[str],
        agent_file: Path,
        stdin: Callable[[bytes], None],
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        stdin("wie schön\n".encode())
        assert main(["run", str(agent_file), *arguments]) == 0
        assert capsys.readouterr().out == "echo: wie schön\n"

    def test_comes_for_the_argument_where_there_is_one_and_a_pipe(
        self,
        agent_file: Path,
        stdin: Callable[[bytes], None],
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        stdin(b"from the pipe")
        assert main(["run", str(agent_file), "from the argument"]) == 0
        assert capsys.readouterr().out == "echo: from the argument\n"

    def test_comes_from_the_backend_that_the_command_line_names(
        self, agent_file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        agent_file.write_text(agent_file.read_text().replace("provider: echo", "provider: other"))
        assert main(["run", str(agent_file), "hello", "--backend", "echo"]) == 0
        assert capsys.readouterr().out == "echo: hello\n"

    def test_shows_no_progress_where_stderr_is_no_terminal(
        self, agent_file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["run", str(agent_file), "hello"]) == 0
        assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("installed")
class TestAFailure:
    def test_of_the_run_is_told_on_stderr_and_is_exit_code_1(
        self, agent_file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["run", str(agent_file), "fail"]) == 1
        captured = capsys.readouterr()
        assert captured.out == "so far\n"
        assert captured.err == "Error: rate limited: come back later\n"

    def test_of_the_run_is_json_too(
        self, agent_file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["run", str(agent_file), "fail", "--json"]) == 1
        assert json.loads(capsys.readouterr().out)["error_reason"] == "rate limited"

    def test_of_the_file_is_exit_code_2(
        self, agent_file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        agent_file.write_text("name: x\n")
        assert main(["run", str(agent_file), "hello"]) == 2
        assert "the key 'model' is missing" in capsys.readouterr().err

    def test_of_the_credentials_is_exit_code_2_and_everything_is_closed(
        self, agent_file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        agent_file.write_text(agent_file.read_text() + "echo: {start: badly}\n")
        assert main(["run", str(agent_file), "hello"]) == 2
        assert "Error: there is no credential for Echo: set ECHO_KEY" in capsys.readouterr().err
        assert diary(agent_file) == ["initialize", "teardown"]

    def test_of_an_unknown_backend_is_exit_code_2(
        self, agent_file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["run", str(agent_file), "hello", "--backend", "nope"]) == 2
        assert "'nope'" in capsys.readouterr().err

    @pytest.mark.parametrize("question", ["", " \n"])
    def test_of_an_empty_question_is_exit_code_2(
        self, question: str, agent_file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["run", str(agent_file), question]) == 2
        assert "the question is empty" in capsys.readouterr().err

    def test_of_offline_on_a_foreign_backend_is_exit_code_2(
        self, agent_file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["run", str(agent_file), "hello", "--offline"]) == 2
        assert "--offline cannot run the backend 'echo'" in capsys.readouterr().err
        assert not (agent_file.parent / "diary.txt").exists()


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
)
def test_a_signal_ends_the_run_with_everything_closed(
    number: signal.Signals, code: int, agent_file: Path, program: Program
) -> None:
    process = program("run", agent_file, "hang")
    wait_for_diary(agent_file, "hanging")
    process.send_signal(number)
    _out, err = process.communicate()
    assert process.returncode == code
    assert b"Traceback" not in err
    assert diary(agent_file) == ["initialize", "hanging", "stopped", "teardown"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_run_whose_event_loop_is_blocked(
    number: signal.Signals, code: int, agent_file: Path, program: Program
) -> None:
    process = program("run", agent_file, "block")
    wait_for_diary(agent_file, "blocking")
    process.send_signal(number)
    _out, err = process.communicate()
    assert process.returncode == code
    assert b"blocks the event loop" in err
    assert b"Traceback" not in err


def test_a_second_signal_ends_the_run_at_once(agent_file: Path, program: Program) -> None:
    process = program("run", agent_file, "stubborn")
    wait_for_diary(agent_file, "hanging")
    process.send_signal(signal.SIGINT)
    wait_for_diary(agent_file, "stopped")
    process.send_signal(signal.SIGTERM)
    _out, err = process.communicate()
    assert process.returncode == 143
    assert b"second signal" in err


def test_a_signal_ends_a_run_while_a_thread_works(agent_file: Path, program: Program) -> None:
    process = program("run", agent_file, "thread")
    wait_for_diary(agent_file, "working")
    process.send_signal(signal.SIGTERM)
    _out, err = process.communicate()
    assert process.returncode == 143
    assert b"Traceback" not in err
    assert diary(agent_file) == ["initialize", "working", "teardown"]


def test_a_reader_that_leaves_is_no_traceback(agent_file: Path, program: Program) -> None:
    process = program("run", agent_file, "hello")
    assert process.stdout
    process.stdout.close()
    _out, err = process.communicate()
    assert b"Traceback" not in err
    assert process.returncode == 1


@pytest.mark.usefixtures("installed")
class TestAFile:
    def test_goes_along_with_the_question(
        self, agent_file: Path, site: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        plugin = site / "echo_plugin.py"
        head = "self, message: str, context: list[dict[str, Any]] | None = None"
        told = "        message += str([(file.name, file.media_type) for file in files])\n"
        before, after = plugin.read_text().split(f"{head}\n    ) -> ExecutionResult:\n")
        plugin.write_text(f"{before}{head}, *, files=()\n    ) -> ExecutionResult:\n{told}{after}")
        for name in ("a.txt", "b.txt"):
            (agent_file.parent / name).write_text("words")
        files = [word for name in ("a.txt", "b.txt") for word in ("--file", name)]
        paths = [str(agent_file.parent / w) if w.endswith(".txt") else w for w in files]
        assert main(["run", str(agent_file), "hello", *paths]) == 0
        sent = [("a.txt", "text/plain"), ("b.txt", "text/plain")]
        assert capsys.readouterr().out == f"echo: hello{sent}\n"

    def test_that_is_not_there_is_named_before_anything_runs(
        self, agent_file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        missing = agent_file.parent / "nothing.png"
        assert main(["run", str(agent_file), "hello", "--file", str(missing)]) == 2
        assert f"there is no file {missing}" in capsys.readouterr().err
        assert not (agent_file.parent / "diary.txt").exists()

    def test_is_refused_by_a_backend_that_takes_none(
        self, agent_file: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = agent_file.parent / "notes.txt"
        file.write_text("words")
        assert main(["run", str(agent_file), "hello", "--file", str(file)]) == 2
        assert "the agent's backend takes no files" in capsys.readouterr().err
        assert diary(agent_file) == ["initialize", "teardown"]
