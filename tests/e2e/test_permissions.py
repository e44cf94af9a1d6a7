"""What the model is granted it can do, and nothing else, as the real effects on disk show."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from holodeck_backend_claude.claude.backend import ClaudeBackend
from holodeck_backend_claude.claude.options import build_options
from holodeck_backend_claude.claude.permissions.gate import Gate
from holodeck_backend_claude.claude.turns.request import Request
from holodeck_backend_claude.contract import (
    AskPermission,
    BackendInitError,
    ExecutionResult,
    PermissionRequest,
    ToolAnnotations,
)
from holodeck_backend_claude.testing import ScriptedMessagesAPI, call_tool, forever, say
from tests.support.probes import Probe, registry_of

from .lab import Lab

ALL: dict[str, Any] = {"permission_mode": "acceptAll", "i_understand_this_is_unsafe": True}
EDITS: dict[str, Any] = {"permission_mode": "acceptEdits"}
FILES: dict[str, Any] = {"file_system": {"read": True, "write": True, "edit": True}}
SHELL: dict[str, Any] = {"bash": {"enabled": True}}
SECRET = "TOP-SECRET-7b1e"

Call = tuple[str, Mapping[str, Any]]


async def granted(
    lab: Lab,
    calls: list[Call],
    *probes: Probe,
    ask: AskPermission | None = None,
    side_effects: bool = True,
    **settings: Any,
) -> tuple[ScriptedMessagesAPI, ClaudeBackend]:
    """A backend whose model makes these calls and then says so."""
    api = await lab.api([*(call_tool(*call) for call in calls), forever(say("done"))])
    agent = lab.agent(api, *probes, settings=settings)
    registry = registry_of(*probes).with_permissions(ask, side_effects=side_effects)
    backend = ClaudeBackend(agent, registry)
    lab._stack.push_async_callback(backend.teardown)
    await backend.initialize()
    return api, backend


async def outcome(lab: Lab, calls: list[Call], *probes: Probe, **said: Any) -> ExecutionResult:
    _api, backend = await granted(lab, calls, *probes, **said)
    result = await backend.invoke_once("Go")
    assert result.response == "done", result
    return result


def said(result: ExecutionResult) -> list[str]:
    return [each["result"] for each in result.tool_results]


def reasons(result: ExecutionResult) -> list[tuple[str, str]]:
    return [(each["name"], each["reason"]) for each in result.permission_denials]


def destructive(name: str = "wipe") -> Probe:
    probe = Probe(name)
    probe.annotations = ToolAnnotations(destructive=True)
    return probe


@pytest.fixture
def files(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An agent's folder with files, secrets, and ways out of it; the folder outside."""
    outside = tmp_path_factory.mktemp("outside")
    (outside / "other.txt").write_text(SECRET)
    folder = lab.folder
    (folder / "notes.txt").write_text("needle one")
    (folder / ".env").write_text(f"KEY={SECRET}")
    (folder / ".holodeck").mkdir()
    (folder / ".holodeck" / "index").write_text(SECRET)
    (folder / "sub").mkdir()
    (folder / "sub" / ".env.local").write_text(SECRET)
    (folder / "sub" / "more.txt").write_text("needle two")
    (folder / "way-out").symlink_to(outside)
    (folder / "secret-link").symlink_to(folder / ".env")
    return outside


# ------------------------------------------------------------------------------------ granting


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (
            {**FILES, **SHELL, "web_search": True},
            ["Bash", "Edit", "Glob", "Grep", "Read", "WebSearch", "Write", "kb_search"],
        ),
        ({**FILES, "allowed_tools": ["Read"], "disallowed_tools": ["Write"]}, ["Read"]),
        ({"disallowed_tools": ["kb_search"]}, []),
    ],
)
async def test_the_model_is_offered_what_is_granted_and_nothing_else(
    lab: Lab, settings: dict[str, Any], expected: list[str]
) -> None:
    api, backend = await granted(lab, [], Probe("kb_search"), **settings)
    await backend.invoke_once("Hi")
    offered = [tool.name for tool in api.requests[0].tools]
    assert sorted(name.removeprefix("mcp__holodeck_tools__") for name in offered) == expected


@pytest.mark.parametrize("key", ["allowed_tools", "disallowed_tools"])
async def test_a_name_that_does_not_exist_is_refused_with_a_suggestion(lab: Lab, key: str) -> None:
    lists: dict[str, Any] = {key: ["kb_serch"]}
    with pytest.raises(BackendInitError, match=f"claude.{key} names 'kb_serch'.*'kb_search'"):
        await granted(lab, [], Probe("kb_search"), **lists)


async def test_a_working_directory_that_is_gone_is_named(lab: Lab) -> None:
    with pytest.raises(BackendInitError, match=r"working_directory: there is no folder .*nowhere"):
        await granted(lab, [], working_directory="nowhere", **FILES)


# --------------------------------------------------------------------------------------- files


async def test_files_are_read_written_and_edited_in_the_folder_of_the_agent(
    lab: Lab, files: Path
) -> None:
    folder = lab.folder
    result = await outcome(
        lab,
        [
            ("Read", {"file_path": str(folder / "notes.txt")}),
            ("Edit", {"file_path": "notes.txt", "old_string": "one", "new_string": "1"}),
            ("Write", {"file_path": str(folder / "new" / "file.txt"), "content": "made"}),
            ("Glob", {"pattern": "**/*"}),
            ("Glob", {"pattern": "**/.*"}),
            ("Grep", {"pattern": "needle|TOP", "output_mode": "content"}),
            ("Grep", {"pattern": "TOP", "path": "sub", "glob": ".env*", "output_mode": "content"}),
        ],
        **EDITS,
        **FILES,
    )
    assert result.permission_denials == []
    assert (folder / "notes.txt").read_text() == "needle 1"
    assert (folder / "new" / "file.txt").read_text() == "made"
    read, _edited, _written, found, hidden, hits, secret_hits = said(result)
    assert "needle one" in read
    assert "more.txt" in found
    assert ".env" not in found
    assert ".holodeck" not in found
    assert ".env" not in hidden
    assert "needle two" in hits
    assert SECRET not in hits
    assert SECRET not in secret_hits


async def test_no_file_outside_and_no_secret_is_reached_even_where_all_is_accepted(
    lab: Lab, files: Path
) -> None:
    folder, outside = lab.folder, files
    read = [
        str(outside / "other.txt"), f"../{outside.name}/other.txt", "way-out/other.txt",
        "/etc/passwd", "~/x",
        ".env", "sub/.env.local", ".holodeck/index", "secret-link", "sub/../.env",
        f"{folder}/sub/../../{outside.name}/other.txt",
    ]  # fmt: skip
    calls: list[Call] = [
        *(("Read", {"file_path": path}) for path in read),
        ("Write", {"file_path": str(outside / "made.txt"), "content": "x"}),
        ("Write", {"file_path": "way-out/made.txt", "content": "x"}),
        ("Write", {"file_path": ".env.new", "content": "x"}),
        ("Glob", {"pattern": f"{outside}/*"}),
        ("Glob", {"pattern": "../*"}),
        ("Glob", {"pattern": "{..,sub}/*"}),
        ("Glob", {"pattern": "*", "path": "way-out"}),
        ("Grep", {"pattern": "TOP", "path": str(outside), "output_mode": "content"}),
        ("Grep", {"pattern": "TOP", "path": "way-out", "output_mode": "content"}),
        ("Grep", {"pattern": "TOP", "path": ".holodeck", "output_mode": "content"}),
    ]
    result = await outcome(lab, calls, **ALL, **FILES)
    assert len(result.permission_denials) == len(calls)
    assert all(each["reason"] for each in result.permission_denials)
    assert SECRET not in str(said(result))
    assert [path.name for path in outside.iterdir()] == ["other.txt"]
    assert (outside / "other.txt").read_text() == SECRET
    assert not (folder / ".env.new").exists()


async def test_no_file_outside_is_edited(lab: Lab, files: Path) -> None:
    change = {"old_string": "TOP", "new_string": "x"}
    paths = ["way-out/other.txt", str(files / "other.txt"), ".env"]
    result = await outcome(
        lab, [("Edit", {"file_path": path, **change}) for path in paths], **ALL, **FILES
    )
    assert all(each["is_error"] for each in result.tool_results)
    assert (files / "other.txt").read_text() == SECRET
    assert (lab.folder / ".env").read_text() == f"KEY={SECRET}"
    assert SECRET not in str(said(result))


async def test_links_are_not_followed_by_a_search(lab: Lab, files: Path) -> None:
    result = await outcome(
        lab,
        [
            ("Glob", {"pattern": "way-out/*"}),
            ("Glob", {"pattern": "**/other*"}),
            ("Grep", {"pattern": "TOP", "output_mode": "content"}),
        ],
        **ALL,
        **FILES,
    )
    assert SECRET not in str(said(result))
    assert "other.txt" not in str(said(result))


async def test_a_working_directory_of_its_own_confines_the_files(lab: Lab, files: Path) -> None:
    result = await outcome(
        lab,
        [("Read", {"file_path": "more.txt"}), ("Read", {"file_path": "../notes.txt"})],
        working_directory="sub",
        **EDITS,
        **FILES,
    )
    notes = lab.folder / "notes.txt"
    assert "needle two" in said(result)[0]
    assert reasons(result) == [
        ("Read", f"'{notes}' is outside of the working directory {lab.folder / 'sub'}")
    ]


async def test_nothing_in_the_folder_of_the_agent_is_read_by_itself(lab: Lab) -> None:
    hooks = {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": f"echo {SECRET}"}]}]}
    settings = {"hooks": hooks, "permissions": {"allow": ["Read(//etc/**)"]}}
    (lab.folder / ".claude").mkdir()
    (lab.folder / ".claude" / "settings.json").write_text(json.dumps(settings))
    (lab.folder / "CLAUDE.md").write_text(SECRET)
    (lab.folder / ".mcp.json").write_text(json.dumps({"mcpServers": {SECRET: {"command": "x"}}}))
    calls: list[Call] = [("Read", {"file_path": "/etc/hostname"})]
    api, backend = await granted(lab, calls, **FILES, **SHELL, **ALL)
    result = await backend.invoke_once("Hi")
    assert len(result.permission_denials) == 1
    assert SECRET not in str([request.body for request in api.requests + api.side_requests])


# ------------------------------------------------------------------------------- command lines


async def test_an_excluded_command_does_not_run_and_others_do(lab: Lab, files: Path) -> None:
    kept = lab.folder / "notes.txt"
    result = await outcome(
        lab,
        [
            ("Bash", {"command": "echo hello > made.txt && cat made.txt"}),
            ("Bash", {"command": "rm notes.txt"}),
            ("Bash", {"command": "echo a | xargs -I{} env rm notes.txt"}),
            ("Bash", {"command": "C=rm; $C notes.txt"}),
        ],
        bash={"enabled": True, "excluded_commands": ["rm"]},
        **ALL,
    )
    assert (lab.folder / "made.txt").read_text() == "hello\n"
    assert kept.exists()
    assert [name for name, _ in reasons(result)] == ["Bash"] * 3
    assert "'rm' is excluded" in reasons(result)[0][1]
    assert "'$C' stands where a command does" in reasons(result)[2][1]


async def test_allow_unsafe_runs_what_cannot_be_told_but_not_what_is_excluded(
    lab: Lab, files: Path
) -> None:
    result = await outcome(
        lab,
        [("Bash", {"command": "C=rm; $C notes.txt"}), ("Bash", {"command": "eval 'rm -r sub'"})],
        bash={"enabled": True, "excluded_commands": ["rm"], "allow_unsafe": True},
        **ALL,
    )
    assert not (lab.folder / "notes.txt").exists()
    assert (lab.folder / "sub").exists()
    assert len(reasons(result)) == 1


async def test_a_command_line_does_not_get_the_credential(lab: Lab) -> None:
    result = await outcome(lab, [("Bash", {"command": "env | sort; echo end"})], **SHELL, **ALL)
    assert "PATH=" in said(result)[0]
    assert "end" in said(result)[0]
    assert "ANTHROPIC_API_KEY" not in said(result)[0]


async def test_a_command_line_does_not_get_the_headers_for_the_collector(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = {"OTEL_EXPORTER_OTLP_HEADERS": f"authorization={SECRET}"}
    for module in ("connecting", "process.environment"):
        name = f"holodeck_backend_claude.claude.{module}.telemetry_variables"
        monkeypatch.setattr(name, lambda _agent: sent)
    result = await outcome(lab, [("Bash", {"command": "env; echo end"})], **SHELL, **ALL)
    assert "end" in said(result)[0]
    assert SECRET not in said(result)[0]


async def test_nothing_that_a_command_line_started_outlives_its_session(lab: Lab) -> None:
    result = await outcome(
        lab,
        [
            ("Bash", {"command": "(setsid sleep 7531 >/dev/null 2>&1 &) ; sleep 7532 & echo up"}),
            ("Bash", {"command": "env -i /bin/sh -c 'nohup sleep 7533 >/dev/null 2>&1 &'; echo"}),
            ("Bash", {"command": "echo no", "run_in_background": True}),
        ],
        **SHELL,
        **ALL,
    )
    assert "up" in said(result)[0]
    assert "run_in_background" in said(result)[2]
    assert [each for each in ("7531", "7532", "7533") if _runs(f"sleep {each}")] == []


async def test_a_command_line_that_runs_when_the_session_is_closed_is_ended(lab: Lab) -> None:
    _api, backend = await granted(lab, [("Bash", {"command": "sleep 7541"})], **SHELL, **ALL)
    session = await backend.create_session()
    turn = asyncio.create_task(session.run_turn("Go"))
    while not _runs("sleep 7541"):
        await asyncio.sleep(0.05)
    await session.close()
    assert (await turn).error_reason == "interrupted"
    assert not _runs("sleep 7541")


def _runs(command: str) -> bool:
    wanted = command.replace(" ", "\0") + "\0"
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_text() == wanted:
                return True
        except OSError:
            continue
    return False


# ------------------------------------------------------------------------------------- asking


async def test_unattended_manual_denies_built_ins_and_destructive_tools_and_warns(
    lab: Lab, files: Path, caplog: pytest.LogCaptureFixture
) -> None:
    search, wipe = Probe("kb_search"), destructive()
    result = await outcome(
        lab,
        [
            ("Read", {"file_path": "notes.txt"}),
            ("Bash", {"command": "ls"}),
            ("mcp__holodeck_tools__wipe", {"query": "x"}),
            ("mcp__holodeck_tools__kb_search", {"query": "x"}),
        ],
        search,
        wipe,
        **FILES,
        **SHELL,
    )
    assert [name for name, _ in reasons(result)] == ["Read", "Bash", "wipe"]
    assert all(reason.endswith("nobody can be asked in this run") for _, reason in reasons(result))
    assert not any("permission_mode" in text or "hook error" in text for text in said(result))
    assert wipe.calls == []
    assert len(search.calls) == 1
    warning = next(
        r.getMessage() for r in caplog.records if "every call will be denied" in r.getMessage()
    )
    assert warning.startswith("Bash, Read, Glob, Grep, Write, Edit, wipe: granted")
    assert warning.endswith(
        "acceptEdits runs Read, Glob, Grep, Write, Edit, and acceptAll with "
        "i_understand_this_is_unsafe: true runs Bash, wipe"
    )


async def test_without_side_effects_no_other_mode_is_advised_for_what_is_denied_anyway(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    write: dict[str, Any] = {"file_system": {"write": True}}
    await granted(lab, [], destructive(), side_effects=False, **write, **SHELL)
    assert "permission_mode" not in caplog.text


async def test_a_private_file_is_refused_in_our_words_whoever_refuses_it(
    lab: Lab, files: Path
) -> None:
    calls: list[Call] = [
        ("Read", {"file_path": ".env"}),
        ("Read", {"file_path": ".holodeck/index"}),
        ("Write", {"file_path": ".env.new", "content": "x"}),
    ]
    result = await outcome(lab, calls, **ALL, **FILES)
    why = "private: .env files and .holodeck/ are never given to the model"
    assert sorted(reasons(result)) == sorted((name, why) for name, _ in calls)
    assert said(result) == [f"Denied: {why}."] * len(calls)


async def test_accept_edits_does_not_ask_for_files_but_for_the_rest(lab: Lab, files: Path) -> None:
    result = await outcome(
        lab,
        [("Read", {"file_path": "notes.txt"}), ("Bash", {"command": "echo x > made.txt"})],
        **EDITS,
        **FILES,
        **SHELL,
    )
    assert [name for name, _ in reasons(result)] == ["Bash"]
    assert not (lab.folder / "made.txt").exists()


async def test_whoever_is_asked_decides_and_sees_the_call(lab: Lab, files: Path) -> None:
    seen: list[PermissionRequest] = []

    async def ask(request: PermissionRequest) -> bool:
        seen.append(request)
        return request.name != "Bash"

    wipe = destructive()
    result = await outcome(
        lab,
        [
            ("Read", {"file_path": "notes.txt"}),
            ("Bash", {"command": "echo x > made.txt"}),
            ("mcp__holodeck_tools__wipe", {"query": "x"}),
        ],
        wipe,
        ask=ask,
        **FILES,
        **SHELL,
    )
    assert [(r.name, dict(r.arguments)) for r in seen] == [
        ("Read", {"file_path": str(lab.folder / "notes.txt")}),
        ("Bash", {"command": "echo x > made.txt"}),
        ("wipe", {"query": "x"}),
    ]
    assert reasons(result) == [("Bash", "the user said no")]
    assert "needle one" in said(result)[0]
    assert len(wipe.calls) == 1
    assert not (lab.folder / "made.txt").exists()


async def test_a_question_that_fails_is_a_denial(lab: Lab, files: Path) -> None:
    async def ask(_request: PermissionRequest) -> bool:
        raise RuntimeError("no terminal")

    result = await outcome(lab, [("Read", {"file_path": "notes.txt"})], ask=ask, **FILES)
    assert "no terminal" in reasons(result)[0][1]
    assert "needle" not in str(said(result))


async def test_a_destructive_tool_does_not_run_where_the_decision_itself_breaks(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_arguments: object) -> dict[str, object]:
        raise RuntimeError("broken")

    monkeypatch.setattr(Gate, "_before_call", broken)
    wipe, search = destructive(), Probe("kb_search")
    await outcome(lab, [("mcp__holodeck_tools__wipe", {"query": "x"})], wipe, search, **ALL)
    assert wipe.calls == []


async def test_the_clock_of_the_turn_stands_still_while_somebody_is_asked(
    lab: Lab, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends: list[float | None] = []
    running: list[Request] = []
    paused = Request.paused

    def record(request: Request) -> AbstractContextManager[None]:
        running.append(request)
        return paused(request)

    monkeypatch.setattr(Request, "paused", record)

    async def ask(_request: PermissionRequest) -> bool:
        (request,) = running
        assert request._clock.limit is not None
        ends.append(request._clock.limit.when())
        return True

    result = await outcome(lab, [("Read", {"file_path": "notes.txt"})], ask=ask, **FILES)
    assert "needle one" in said(result)[0]
    assert ends == [None]


async def test_a_turn_that_is_stopped_while_somebody_is_asked_leaves_a_usable_session(
    lab: Lab, files: Path
) -> None:
    asked = asyncio.Event()

    async def ask(_request: PermissionRequest) -> bool:
        asked.set()
        await asyncio.Event().wait()
        return True

    _api, backend = await granted(lab, [("Read", {"file_path": "notes.txt"})], ask=ask, **FILES)
    session = await backend.create_session()
    turn = asyncio.create_task(session.run_turn("Go"))
    await asked.wait()
    await session.interrupt()
    assert (await turn).error_reason == "interrupted"
    assert (await session.run_turn("Again")).response == "done"
    await session.close()


async def test_without_side_effects_nothing_is_changed_whatever_the_mode(
    lab: Lab, files: Path
) -> None:
    wipe = destructive()
    result = await outcome(
        lab,
        [
            ("Bash", {"command": "echo x > made.txt"}),
            ("Write", {"file_path": "made.txt", "content": "x"}),
            ("mcp__holodeck_tools__wipe", {"query": "x"}),
            ("Read", {"file_path": "notes.txt"}),
        ],
        wipe,
        side_effects=False,
        **ALL,
        **FILES,
        **SHELL,
    )
    assert reasons(result) == [
        (name, "side effects are off in this run") for name in ("Bash", "Write", "wipe")
    ]
    assert wipe.calls == []
    assert not (lab.folder / "made.txt").exists()
    assert "needle one" in said(result)[3]


async def test_denials_of_a_turn_are_not_those_of_the_next(lab: Lab, files: Path) -> None:
    script = [call_tool("Read", {"file_path": ".env"}), say("one"), forever(say("two"))]
    api = await lab.api(script)
    backend = await lab.backend(api, settings={**ALL, **FILES})
    session = await backend.create_session()
    first, second = await session.send("a"), await session.send("b")
    assert len(first.permission_denials) == 1
    assert second.permission_denials == []


async def test_a_plain_search_agent_has_no_hook(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Any] = []
    build = build_options

    def record(*given: Any, **named: Any) -> Any:
        built.append(build(*given, **named))
        return built[-1]

    monkeypatch.setattr("holodeck_backend_claude.claude.process.client.build_options", record)
    _api, backend = await granted(lab, [], Probe("kb_search"))
    await backend.invoke_once("Hi")
    _api, backend = await granted(lab, [], destructive())
    await backend.invoke_once("Hi")
    assert [bool(options.hooks) for options in built] == [False, True]
    assert {field.name for field in dataclasses.fields(built[0])} >= {"hooks"}
