"""Runs in place of Claude Code and becomes it: own session and process group, few variables.

The SDK gives its child the parent's whole environment and can only add to it, so the child itself
has to let go of what is not granted. This file is started as a script, with ``python -I -S``, for
each client; it imports nothing but os and sys to cost a few milliseconds only.

Arguments: the names of the variables to keep (comma separated), the file to write the process id
to, the program to become, and the program's own arguments.
"""

import os
import sys


def main() -> None:
    """Leave the parent's group and environment, then become the program."""
    names, pid_file, program, *arguments = sys.argv[1:]
    keep = set(names.split(","))
    environment = {name: value for name, value in os.environ.items() if name in keep}
    os.setsid()
    if "HOLODECK_ADOPTS_ORPHANS" in os.environ:
        adopt_orphans()
    descriptor = os.open(pid_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.write(descriptor, str(os.getpid()).encode())
    os.close(descriptor)
    try:
        os.execve(program, [program, *arguments], environment)  # noqa: S606  replacing is the point
    except OSError as cause:
        sys.exit(f"{program} cannot be run: {cause.strerror}")


def adopt_orphans() -> None:
    """Become the parent of what loses its own below, so that it can be found; on Linux only."""
    import ctypes

    subreaper = 36
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(subreaper, 1, 0, 0, 0)


if __name__ == "__main__":
    main()
