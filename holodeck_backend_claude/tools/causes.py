"""Files that something is wrong with, as lines of a log."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from holodeck_backend_claude.retrieval import Skipped

_NAMES_TOLD = 5
_PLACE = re.compile(r",? (?:at|see) byte \d+")


def by_cause(files: Sequence[Skipped]) -> Iterator[str]:
    """One line for each cause, wherever in a file it is, with the first names."""
    alike: dict[str, list[Skipped]] = {}
    for file in files:
        alike.setdefault(_PLACE.sub("", file.cause), []).append(file)
    for general, group in alike.items():
        paths = [file.path for file in group]
        cause = group[0].cause if len({file.cause for file in group}) == 1 else general
        more = len(paths) - _NAMES_TOLD
        yield f"{', '.join(paths[:_NAMES_TOLD])}{f' and {more} more' if more > 0 else ''}: {cause}"
