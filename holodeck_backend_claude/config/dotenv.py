"""The ``.env`` file beside an agent file: lines of ``NAME=value``."""

from __future__ import annotations

import re
from pathlib import Path

from holodeck_backend_claude.config.problems import Findings, Mark

FILE_NAME = ".env"
_MAX_BYTES = 1_000_000

_ASSIGNMENT = re.compile(
    r"""[ \t]*(?:export[ \t]+)?(?P<name>[A-Za-z_][A-Za-z0-9_.]*)[ \t]*=
    (?: [ \t]*'(?P<single>[^']*)'[ \t]*(?:\#[^\n]*)?$
      | [ \t]*"(?P<double>(?:[^"\\]|\\.)*)"[ \t]*(?:\#[^\n]*)?$
      | (?P<bare>(?![ \t]*['"])[^\n]*)$ )""",
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
_BLANK = re.compile(r"[ \t]*(?:#[^\n]*)?$", re.MULTILINE)
_COMMENT = re.compile(r"[ \t]+#.*")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"', "'": "'", "$": "$"}


def read_dotenv(folder: Path) -> tuple[dict[str, str], Findings]:
    """The variables of ``.env`` in ``folder``; none where there is no such file.

    Values may stand in single quotes (as they are) or in double quotes (where a backslash
    escapes), and may then span lines. A line that is no assignment is left out with a notice that
    does not quote it: it may hold a secret.
    """
    file = folder / FILE_NAME
    findings = Findings(str(file))
    try:
        if not file.is_file():
            return {}, findings
        with file.open("rb") as stream:
            data = stream.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            findings.error(None, (), "the file is larger than 1 MB")
            return {}, findings
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as cause:
        reason = "it is not UTF-8 text" if isinstance(cause, UnicodeDecodeError) else cause.strerror
        findings.error(None, (), f"the file cannot be read: {reason}")
        return {}, findings
    return _assignments(text, findings), findings


def _assignments(text: str, findings: Findings) -> dict[str, str]:
    values: dict[str, str] = {}
    position = line = 0
    while position < len(text):
        line += 1
        match = _ASSIGNMENT.match(text, position) or _BLANK.match(text, position)
        if match is None:
            findings.notice(
                Mark(line, 1),
                (),
                "this line is left out: it is not NAME=value",
                hint="a value that begins with a quote has to end with one",
            )
            end = text.find("\n", position)
            position = len(text) if end < 0 else end + 1
            continue
        if match.re is _ASSIGNMENT:
            values[match["name"]] = _value(match)
        line += match[0].count("\n")
        position = match.end() + 1
    return values


def _value(match: re.Match[str]) -> str:
    if match["single"] is not None:
        return match["single"]
    if match["double"] is not None:
        return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[0]), match["double"])
    return _COMMENT.sub("", match["bare"]).strip()
