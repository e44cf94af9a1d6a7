"""The private folder of a Claude Code process."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from holodeck_backend_claude.claude.process.private_folder import (
    PrivateFolder,
    end_all,
    remove_abandoned,
)


@pytest.fixture(autouse=True)
def temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def test_only_the_owner_can_read_it_and_it_goes_away() -> None:
    folder = PrivateFolder()
    prompt = folder.write_system_prompt("Be brief.")
    assert prompt.read_text() == "Be brief."
    assert folder.path.stat().st_mode & 0o077 == 0
    folder.remove()
    assert not folder.path.exists()


def test_a_forgotten_folder_goes_away_by_itself() -> None:
    folder = PrivateFolder()
    path = folder.path
    del folder
    assert not path.exists()


def test_a_killed_programs_folder_is_removed_by_the_next_and_a_live_ones_stays(
    temporary_folder: Path,
) -> None:
    code = (
        "from holodeck_backend_claude.claude.process.private_folder import PrivateFolder\n"
        "folder = PrivateFolder(); print(folder.path, flush=True); input()"
    )
    program = [sys.executable, "-c", code]
    with (
        subprocess.Popen(program, stdin=-1, stdout=-1, text=True) as killed,
        subprocess.Popen(program, stdin=-1, stdout=-1, text=True) as alive,
    ):
        assert killed.stdout
        assert alive.stdout
        left, kept = Path(killed.stdout.readline().strip()), Path(alive.stdout.readline().strip())
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert left.exists()
        remove_abandoned.cache_clear()
        own = PrivateFolder()
        assert not left.exists()
        assert kept.exists()
        assert own.path.exists()
        own.remove()
        alive.communicate("\n")
    assert list(temporary_folder.iterdir()) == []


@pytest.mark.parametrize("end", ["raise SystemExit", "del folder", "end_all()"])
def test_a_forked_child_that_ends_leaves_its_parents_folder_and_process_alone(end: str) -> None:
    code = (
        "import os, subprocess\n"
        "from holodeck_backend_claude.claude.process.private_folder import PrivateFolder, end_all\n"
        "folder = PrivateFolder()\n"
        "launcher = folder.write_launcher('/bin/cat', ['PATH'])\n"
        "with subprocess.Popen([launcher], stdin=-1, stdout=-1) as process:\n"
        "    process.stdin.write(b'.')\n"
        "    process.stdin.flush()\n"
        "    process.stdout.read(1)\n"
        "    if (child := os.fork()) == 0:\n"
        f"        {end}\n"
        "        raise SystemExit\n"
        "    os.waitpid(child, 0)\n"
        "    print(folder.path.exists(), folder.is_running())\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], check=True, stdout=-1, text=True)
    assert ended.stdout == "True True\n"


def test_a_process_that_was_never_started_has_no_id_and_is_not_killed() -> None:
    folder = PrivateFolder()
    assert folder.pid() is None
    folder.kill()
    folder.remove()


def test_a_program_that_ends_without_exit_kills_its_process_and_removes_the_folder(
    temporary_folder: Path,
) -> None:
    folder = PrivateFolder()
    launcher = folder.write_launcher("/bin/sleep", ["PATH"])
    with subprocess.Popen([str(launcher), "1000"]) as process:
        while folder.pid() is None:
            assert process.poll() is None
        end_all()
        assert process.wait() == -signal.SIGKILL
    assert list(temporary_folder.iterdir()) == []


def test_the_launcher_knows_the_version_and_starts_the_program_for_all_else(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\necho "started with $*"\n')
    program.chmod(0o700)
    folder = PrivateFolder()
    launcher = folder.write_launcher(str(program), [], version="1.2.3 (it's Claude Code)")
    with subprocess.Popen([launcher, "-v"], stdout=-1, text=True) as asked:
        assert asked.stdout
        assert asked.stdout.readline() == "1.2.3 (it's Claude Code)\n"
        asked.terminate()
    assert folder.pid() is None
    started = subprocess.run([launcher, "-v", "-x"], check=True, capture_output=True, text=True)
    assert started.stdout == "started with -v -x\n"


def test_without_a_version_the_program_answers_itself(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho mine\n")
    program.chmod(0o700)
    folder = PrivateFolder()
    launcher = folder.write_launcher(str(program), [])
    answered = subprocess.run([launcher, "-v"], check=True, capture_output=True, text=True)
    assert answered.stdout == "mine\n"
