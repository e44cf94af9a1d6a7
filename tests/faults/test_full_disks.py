"""The temporary folder cannot be written, is full, or fills while the agent starts."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.faults.lab import FaultLab, each
from tests.faults.program import Program
from tests.faults.registry import fault

NO_SPACE = "an error that says so"
ANOTHER = "exit code 0, in another folder"

# a file system of its own in the place of the temporary folder, seen by this program alone
MOUNTED = (
    "exec unshare --map-root-user --mount sh -c "
    '\'mount -t tmpfs -o {options} none "$TMPDIR" && {{ {first}; exec "$@"; }}\' sh "$@"'
)
FULL = 'cat /dev/zero > "$TMPDIR/all" 2>/dev/null'
WAYS = {
    "read-only": MOUNTED.format(options="ro", first="true"),
    "full": MOUNTED.format(options="size=4k", first=FULL),
    "no room for a second file": MOUNTED.format(options="size=4k", first="true"),
}
EXPECTED = {way: ANOTHER if way in {"read-only", "full"} else NO_SPACE for way in WAYS}


def mounts() -> bool:
    """Whether this machine lets a program mount something for itself."""
    try:
        command = MOUNTED.format(options="size=4k", first="exit 0").removeprefix("exec ")
        tried = ["/bin/sh", "-c", command.replace("$TMPDIR", "/tmp")]
        return subprocess.run(tried, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@fault("command", "run: a temporary folder that takes nothing", EXPECTED)
async def test_temporary_folder_takes_nothing(lab: FaultLab) -> dict[str, str]:
    if shutil.which("unshare") is None or not mounts():
        pytest.skip("nothing can be mounted here")
    program = Program(lab)

    async def try_one(way: str) -> str:
        running = await program.start("run", program.agent(), "Hi", "--offline", before=WAYS[way])
        got = await running.exit_code()
        if got == "exit code 0":
            return ANOTHER if "found Hi" in running.out else running.out
        assert got == "exit code 1", running.err
        return NO_SPACE if "No space left on device" in running.err else running.err

    return await each(tuple(WAYS), try_one)


@fault(
    "command",
    "run: no file may have more than so many kilobytes (ulimit -f)",
    {"0": NO_SPACE, "1": NO_SPACE},
)
async def test_no_file_may_grow(lab: FaultLab) -> dict[str, str]:
    program = Program(lab)

    async def try_one(size: str) -> str:
        limit = f"ulimit -f {size}"
        running = await program.start("run", program.agent(), "Hi", "--offline", before=limit)
        assert await running.exit_code() == "exit code 1", running.err
        return NO_SPACE if "its private folder cannot be written" in running.err else running.err

    return await each(("0", "1"), try_one)
