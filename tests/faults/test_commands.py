"""``run`` and ``chat`` as processes of their own: signals, streams, folders, variables, limits."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable

from holodeck_backend_claude.testing import forever, hang
from tests.faults.lab import FaultLab, each
from tests.faults.program import Program, Running
from tests.faults.registry import fault

POINTS = ("while a tool opens", "while the model is asked", "in a tool")


async def reached(
    lab: FaultLab, program: Program, point: str, start: Callable[[str], Awaitable[Running]]
) -> Running:
    if point == "while the model is asked":
        api = await lab.api([forever(hang())])
        running = await start(program.agent(endpoint=api.url))
        await api.wait_for_requests(1)
        return running
    where = {"at_start": "hang"} if point == "while a tool opens" else {"in_a_call": "hang"}
    running = await start(program.agent(**where))
    await running.has_begun()
    return running


def offline(point: str) -> tuple[str, ...]:
    return () if point == "while the model is asked" else ("--offline",)


TERM_AND_HUP = {"SIGTERM": "exit code 143", "SIGHUP": "exit code 129"}


@fault("command", "run: a signal while a tool runs", TERM_AND_HUP)
async def test_run_gets_a_signal(lab: FaultLab) -> dict[str, str]:
    program = Program(lab)

    async def try_one(name: str) -> str:
        running = await reached(
            lab, program, "in a tool", lambda file: program.start("run", file, "Hi", "--offline")
        )
        running.process.send_signal(signal.Signals[name])
        return await running.exit_code()

    return await each(tuple(TERM_AND_HUP), try_one)


@fault("command", "run: Ctrl-C on a terminal", dict.fromkeys(POINTS, "exit code 130"))
async def test_run_gets_ctrl_c(lab: FaultLab) -> dict[str, str]:
    program = Program(lab)

    async def try_one(point: str) -> str:
        running = await reached(
            lab,
            program,
            point,
            lambda file: program.start_on_a_terminal("run", file, "Hi", *offline(point)),
        )
        running.type("\x03")
        return await running.exit_code()

    return await each(POINTS, try_one)


@fault("command", "run: Ctrl-C while a tool blocks the event loop", "exit code 130")
async def test_run_is_blocked(lab: FaultLab) -> str:
    program = Program(lab)
    file = program.agent(in_a_call="block")
    running = await program.start_on_a_terminal("run", file, "Hi", "--offline")
    await running.has_begun()
    running.type("\x03")
    got = await running.exit_code()
    assert "blocks the event loop" in running.out
    return got


@fault(
    "command",
    "chat: Ctrl-C in a turn, on a terminal: the turn stops, the chat goes on",
    dict.fromkeys(POINTS[1:], "stopped, exit code 0"),
)
async def test_chat_gets_ctrl_c(lab: FaultLab) -> dict[str, str]:
    program = Program(lab)

    async def start(file: str, *rest: str) -> Running:
        running = await program.start_on_a_terminal("chat", file, *rest)
        await running.shows("> ")
        running.type("Hi\n")
        return running

    async def try_one(point: str) -> str:
        running = await reached(lab, program, point, lambda file: start(file, *offline(point)))
        running.type("\x03")
        await running.shows("stopped")
        await running.shows("> ", times=2)
        running.type("\x04")
        return f"stopped, {await running.exit_code()}"

    return await each(POINTS[1:], try_one)


@fault("command", "chat: Ctrl-C while a tool opens", "exit code 130")
async def test_chat_gets_ctrl_c_at_its_start(lab: FaultLab) -> str:
    program = Program(lab)
    file = program.agent(at_start="hang")
    running = await program.start_on_a_terminal("chat", file, "--offline")
    await running.has_begun()
    running.type("\x03")
    return await running.exit_code()


@fault("command", "chat: a signal while a tool runs", TERM_AND_HUP)
async def test_chat_gets_a_signal(lab: FaultLab) -> dict[str, str]:
    program = Program(lab)

    async def try_one(name: str) -> str:
        running = await program.start("chat", program.agent(in_a_call="hang"), "--offline")
        running.type("Hi\n")
        await running.has_begun()
        running.process.send_signal(signal.Signals[name])
        return await running.exit_code()

    return await each(tuple(TERM_AND_HUP), try_one)


@fault("command", "chat: two Ctrl-C while a tool blocks the event loop", "exit code 130")
async def test_chat_is_blocked(lab: FaultLab) -> str:
    program = Program(lab)
    file = program.agent(in_a_call="block")
    running = await program.start_on_a_terminal("chat", file, "--offline")
    await running.shows("> ")
    running.type("Hi\n")
    await running.has_begun()
    running.type("\x03")
    await running.shows("Ctrl-C again ends the chat")
    running.type("\x03")
    return await running.exit_code()


@fault("command", "run: its answer goes to a disk that is full", "exit code 1")
async def test_disk_is_full(lab: FaultLab) -> str:
    program = Program(lab)
    running = await program.start(
        "run", program.agent(), "Hi", "--offline", before="exec > /dev/full"
    )
    return await running.exit_code()


@fault("command", "run: the whole program is killed (SIGKILL)", "exit code -9", left="a folder")
async def test_run_is_killed(lab: FaultLab) -> str:
    """Claude Code ends with its stdin; its folder is removed by the next program."""
    program = Program(lab)
    running = await program.start("run", program.agent(in_a_call="hang"), "Hi", "--offline")
    await running.has_begun()
    running.process.kill()
    got = await running.exit_code()
    left = list(program.temporary.iterdir())
    assert len(left) == 1
    from tests.e2e.lab import started_in

    while started_in(left[0]):
        await asyncio.sleep(0.05)
    again = await program.start("run", program.agent(), "Hi", "--offline")
    assert await again.exit_code() == "exit code 0"
    assert list(program.temporary.iterdir()) == []
    return got


STOPPED = "an error that says so"


@fault("command", "a tool stops the event loop", dict.fromkeys(("run", "chat"), STOPPED))
async def test_tool_stops_the_event_loop(lab: FaultLab) -> dict[str, str]:
    program = Program(lab)

    async def try_one(command: str) -> str:
        message = ("Hi",) if command == "run" else ()
        agent = program.agent(in_a_call="stop the loop")
        running = await program.start(command, agent, *message, "--offline")
        if command == "chat":
            running.type("Hi\n")
        got = await running.exit_code()
        assert got == "exit code 1", running.err
        return STOPPED if "a tool has called stop() on it" in running.err else running.err

    return await each(("run", "chat"), try_one)


@fault(
    "command",
    "run: a temporary folder that is of no use",
    {"missing": "exit code 0", "a file": "exit code 0"},
)
async def test_temporary_folder_is_of_no_use(lab: FaultLab) -> dict[str, str]:
    program = Program(lab)
    folders = {"missing": lab.folder / "missing", "a file": lab.folder / "file"}
    folders["a file"].write_text("no folder")

    async def try_one(value: str) -> str:
        where = str(folders[value])
        running = await program.start(
            "run", program.agent(), "Hi", "--offline", variables={"TMPDIR": where}
        )
        return await running.exit_code()

    return await each(tuple(folders), try_one)


@fault(
    "command",
    "run: an environment that lacks what one relies on",
    dict.fromkeys(("neither HOME nor PATH", "the locale C"), "exit code 0"),
)
async def test_environment_is_poor(lab: FaultLab) -> dict[str, str]:
    program = Program(lab)
    variables: dict[str, dict[str, str | None]] = {
        "neither HOME nor PATH": {"HOME": None, "PATH": None},
        "the locale C": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    }

    async def try_one(value: str) -> str:
        running = await program.start(
            "run", program.agent(), "Grün 漢字?", "--offline", variables=variables[value]
        )
        got = await running.exit_code()
        assert "found Gr" in running.out, running.out + running.err
        return got

    return await each(tuple(variables), try_one)


@fault(
    "command",
    "run: not enough file descriptors",
    {"8 of them": "an error that says so", "13 of them": "an error that says so"},
)
async def test_no_descriptors_left(lab: FaultLab) -> dict[str, str]:
    program = Program(lab)

    async def try_one(value: str) -> str:
        limit = f"ulimit -n {value.split(maxsplit=1)[0]}"
        running = await program.start("run", program.agent(), "Hi", "--offline", before=limit)
        got = await running.exit_code()
        assert got in {"exit code 1", "exit code 2"}, running.err
        return "an error that says so" if "Too many open files" in running.err else running.err

    return await each(("8 of them", "13 of them"), try_one)
