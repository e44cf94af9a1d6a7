"""What fits a pattern such as ``docs/**/*.md``."""

from __future__ import annotations

import re
from functools import lru_cache


def fits(path: str, pattern: str) -> bool:
    """Whether a path relative to the folder fits.

    ``*`` and ``?`` stand for characters of one name, ``[ab]`` for one of these, ``[!ab]`` for
    any other, and ``**`` as a step of its own for any number of folders.
    """
    return _compiled(pattern).fullmatch(path) is not None


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> re.Pattern[str]:
    steps = [step for step in pattern.split("/") if step]
    parts = [_step(step, is_last=number == len(steps)) for number, step in enumerate(steps, 1)]
    return re.compile("".join(parts), re.DOTALL)


def _step(step: str, *, is_last: bool) -> str:
    if step == "**":
        return ".*" if is_last else "(?:[^/]+/)*"
    return "".join(map(_piece, re.findall(r"\[!?\]?[^\]]*\]|.", step))) + ("" if is_last else "/")


def _piece(piece: str) -> str:
    if piece == "*":
        return "[^/]*"
    if piece == "?":
        return "[^/]"
    if len(piece) > 2 and piece[0] == "[":
        inside = piece[1:-1].replace("\\", "\\\\").replace("^", "\\^").replace("[", "\\[")
        return f"(?!/)[^{inside[1:]}]" if inside[0] == "!" else f"(?!/)[{inside}]"
    return re.escape(piece)
