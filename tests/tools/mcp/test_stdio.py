"""A stdio server: how it is started, what it sees of the host, and that it is gone afterwards."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from holodeck_backend_claude.contract import BackendInitError
from holodeck_backend_claude.tools.mcp import process

from .conftest import Bench


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


async def ended(pid: int) -> None:
    """Return once the process is gone; a killed one takes a moment."""
    for _ in range(200):
        if not runs(pid):
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"process {pid} still runs")


class TestWhatItSees:
    async def test_few_variables_of_the_host_and_no_credential(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "DATABASE_URL", "SOMETHING_ELSE"):
            monkeypatch.setenv(name, "sk-host-secret")
        monkeypatch.setenv("HOME", str(bench.folder))
        tools = await bench.tools(bench.raw())
        seen = json.loads((await tools["raw_env"].call({})).text)
        assert seen["env"].keys() - {"LC_CTYPE"} <= {
            "HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER",
        }  # fmt: skip
        assert seen["env"]["HOME"] == str(bench.folder)
        assert "sk-host-secret" not in json.dumps(seen)
        assert seen["cwd"] == str(bench.folder)
        assert os.getpgid(seen["pid"]) == seen["pid"] != os.getpgid(0)

    async def test_its_own_variables_those_of_its_file_and_its_config(self, bench: Bench) -> None:
        (bench.folder / "server.env").write_text("FROM_FILE='a b'\nBOTH=file\n")
        config = bench.raw(
            env={"BOTH": "own", "TERM": "dumb"}, env_file="server.env", config={"depth": [1, 2]}
        )
        tools = await bench.tools(config)
        env = json.loads((await tools["raw_env"].call({})).text)["env"]
        assert (env["FROM_FILE"], env["BOTH"], env["TERM"]) == ("a b", "own", "dumb")
        assert json.loads(env["MCP_CONFIG"]) == {"depth": [1, 2]}

    async def test_an_env_file_that_cannot_be_used_is_named_and_not_quoted(
        self, bench: Bench
    ) -> None:
        (bench.folder / "server.env").write_text("TOKEN='never closed sk-1234567890\n")
        with pytest.raises(BackendInitError, match=r"'raw' .*env_file 'server\.env'") as caught:
            await bench.open(bench.raw(env_file="server.env"))
        assert "1234567890" not in str(caught.value)

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1"])
    async def test_its_encoding(self, bench: Bench, encoding: str) -> None:
        tools = await bench.tools(bench.raw({"encoding": encoding}, encoding=encoding))
        for _ in range(2):
            result = await tools["raw_echo"].call({"text": "größer"})
            assert json.loads(result.text) == {"text": "größer"}

    async def test_a_program_of_the_agents_folder_is_started_from_there(self, bench: Bench) -> None:
        script = bench.folder / "server.sh"
        script.write_text('#!/bin/sh\nexec "$@"\n')
        script.chmod(0o700)
        raw = bench.raw()
        config = bench.raw(command="./server.sh", args=(raw.command, *raw.args))
        assert "raw_echo" in await bench.tools(config)


class TestAStartThatFails:
    async def test_says_the_exit_code_and_the_last_lines_with_secrets_masked(
        self, bench: Bench
    ) -> None:
        said = {"exit": 3, "stderr": "no license\nAPI_KEY=sk-ant-api03-AAAABBBBCCCC\n"}
        with pytest.raises(BackendInitError) as caught:
            await bench.open(bench.raw(said))
        text = str(caught.value)
        assert text.startswith("tool 'raw' (mcp) could not be opened: MCP server failed: raw: ")
        assert "its process ended with exit code 3" in text
        assert "no license" in text
        assert "AAAABBBB" not in text

    async def test_names_its_name_in_the_registry(self, bench: Bench) -> None:
        config = bench.raw({"exit": 3}, registry_name="io.github.somebody/raw")
        with pytest.raises(BackendInitError, match=r"raw \(io\.github\.somebody/raw\): its"):
            await bench.open(config)

    async def test_says_that_there_is_no_such_program(self, bench: Bench) -> None:
        with pytest.raises(BackendInitError, match=r"no program 'no-such-server' on its PATH"):
            await bench.open(bench.raw(command="no-such-server"))

    async def test_says_that_the_program_is_not_executable(self, bench: Bench) -> None:
        (bench.folder / "notes.txt").write_text("words")
        with pytest.raises(BackendInitError, match=r"'\./notes\.txt' is not executable"):
            await bench.open(bench.raw(command="./notes.txt"))

    async def test_by_silence_is_given_up_in_time_and_the_process_is_gone(
        self, bench: Bench
    ) -> None:
        said = {"silent": True, "stderr": "waiting for a licence server\n"}
        with pytest.raises(BackendInitError, match=r"(?s)initialize.*within 0\.3 s.*licence"):
            await bench.open(bench.raw(said, timeout=0.3))

    async def test_by_an_answer_that_is_none_says_so(self, bench: Bench) -> None:
        with pytest.raises(BackendInitError, match="answer to 'initialize' is not the protocol's"):
            await bench.open(bench.raw({"initialize": {"hello": "world"}}))

    async def test_by_a_version_nobody_knows_says_so(self, bench: Bench) -> None:
        greeting = {
            "protocolVersion": "1066-10-14",
            "capabilities": {},
            "serverInfo": {"name": "old", "version": "1"},
        }
        says = (
            r"raw: it speaks version '1066-10-14' of the protocol, which is not known here "
            r"\(known are 2024-11-05 to .*\): update the server, or the Python package 'mcp'"
        )
        with pytest.raises(BackendInitError, match=says):
            await bench.open(bench.raw({"initialize": greeting}))

    async def test_of_an_optional_server_is_a_warning(
        self, bench: Bench, caplog: pytest.LogCaptureFixture
    ) -> None:
        dead = bench.raw({"exit": 3, "stderr": "no license\n"}, name="dead", optional=True)
        tools = await bench.open(dead, bench.raw())
        assert "raw_echo" in {tool.name for tool in tools.tools}
        assert "A raw server." in tools.system_prompt
        assert "'dead'" not in tools.system_prompt
        (warning,) = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
        assert "runs without it" in warning
        assert "exit code 3" in warning
        assert "no license" in warning

    async def test_of_one_server_closes_the_others(self, bench: Bench) -> None:
        with pytest.raises(BackendInitError, match="tool 'dead'"):
            await bench.open(bench.raw(), bench.raw({"exit": 3}, name="dead"))


class TestNoiseDoesNoHarm:
    async def test_a_flood_on_stderr_is_kept_short_and_off_our_output(
        self, bench: Bench, capfd: pytest.CaptureFixture[str]
    ) -> None:
        flood = "x" * 3_000_000 + "\n" + "line\n" * 10_000 + "the last line\n"
        (bench.folder / "flood").write_text(flood)
        raw = bench.raw()
        told = ("-c", 'cat flood >&2; exec "$@"', "sh", raw.command, *raw.args)
        tools = await bench.tools(bench.raw(command="/bin/sh", args=told))
        result = await tools["raw_die"].call({})
        assert "exit code 3" in result.text
        out, err = capfd.readouterr()
        assert (out, err) == ("", "")

    async def test_words_on_stdout_are_no_messages_and_are_shown_where_it_fails(
        self, bench: Bench
    ) -> None:
        tools = await bench.tools(bench.raw({"stdout": "Welcome!\n"}))
        assert (await tools["raw_noise"].call({})).text == "after the noise"
        with pytest.raises(BackendInitError, match=r"\(on stdout\) Usage: server DIR"):
            await bench.open(bench.raw({"stdout": "Usage: server DIR\n", "exit": 2}))


class TestItsEnd:
    @pytest.mark.parametrize("alone", [False, True])
    async def test_closing_ends_the_server_and_what_it_started(
        self, bench: Bench, alone: bool
    ) -> None:
        opened = await bench.open(bench.raw())
        tools = {tool.name: tool for tool in opened.tools}
        server = json.loads((await tools["raw_env"].call({})).text)["pid"]
        grandchild = int((await tools["raw_spawn"].call({"alone": alone})).text)
        assert runs(grandchild)
        await opened.close()
        await ended(grandchild)
        await ended(server)

    async def test_a_server_that_ignores_it_is_killed(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(process, "EXIT_SECONDS", 0.1)
        monkeypatch.setattr(process, "TERM_SECONDS", 0.1)
        opened = await bench.open(bench.raw({"ignore_term": True}))
        tools = {tool.name: tool for tool in opened.tools}
        server = json.loads((await tools["raw_env"].call({})).text)["pid"]
        await opened.close()
        await ended(server)

    async def test_what_a_crashed_server_started_is_gone_too(self, bench: Bench) -> None:
        tools = await bench.tools(bench.raw())
        grandchild = int((await tools["raw_spawn"].call({})).text)
        await tools["raw_die"].call({})
        await ended(grandchild)

    async def test_where_nothing_is_closed_in_order_all_are_killed(self, bench: Bench) -> None:
        tools = await bench.tools(bench.raw())
        server = json.loads((await tools["raw_env"].call({})).text)["pid"]
        grandchild = int((await tools["raw_spawn"].call({"alone": True})).text)
        process.end_all()
        await ended(server)
        await ended(grandchild)
