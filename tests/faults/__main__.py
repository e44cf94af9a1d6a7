"""``python -m tests.faults``: run the suite and print its table; ``--page`` writes the page."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.faults.registry import SESSIONS
from tests.faults.table import Report, write


def main(arguments: list[str]) -> int:
    """Run with these arguments of pytest; returns the exit code."""
    if arguments == ["--page"]:
        from tests.faults.causes import all_causes

        write(all_causes())
        return 0
    os.environ.setdefault(SESSIONS, "100")
    report = Report(sys.stdout)
    folder = str(Path(__file__).parent)
    code = pytest.main([folder, "-q", "-n", "2", "--dist", "load", *arguments], plugins=[report])
    report.show()
    return int(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
