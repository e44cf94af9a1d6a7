"""The ``.env`` file beside an agent file: lines of ``NAME=value``, as python-dotenv reads them.

Its parser is asked directly, because ``dotenv_values`` tells of wrong lines in the log only.
"""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from holodeck_backend_claude.config.problems import Findings, Mark

if TYPE_CHECKING:
    from dotenv.parser import Binding

FILE_NAME = ".env"
_MAX_BYTES = 1_000_000


def read_dotenv(folder: Path) -> tuple[dict[str, str], Findings]:
    """The variables of ``.env`` in ``folder``; none where there is no such file."""
    file = folder / FILE_NAME
    try:
        if not file.is_file():
            return {}, Findings(str(file))
    except OSError:
        pass  # reading it says why
    return read_variables(file)


def read_variables(file: Path) -> tuple[dict[str, str], Findings]:
    """The variables of a file.

    Values may stand in quotes and then span lines; variables in them are not put in. A line that
    is no assignment is left out with a notice that does not quote it: it may hold a secret.
    """
    findings = Findings(str(file))
    try:
        with file.open("rb") as stream:
            data = stream.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            findings.error(None, (), "the file is larger than 1 MB")
            return {}, findings
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as cause:
        reason = "it is not UTF-8 text" if isinstance(cause, UnicodeDecodeError) else cause.strerror
        findings.error(None, (), f"the file cannot be read: {reason}")
        return {}, findings
    return _assignments(text, findings), findings


def _assignments(text: str, findings: Findings) -> dict[str, str]:
    from dotenv.parser import parse_stream  # takes a while, and most have no such file

    values: dict[str, str] = {}
    for binding in parse_stream(StringIO(text, newline=None)):
        if binding.key is not None and binding.value is not None:
            values[binding.key] = binding.value
        elif binding.error or binding.key is not None:
            findings.notice(
                Mark(_line_of(binding), 1),
                (),
                "this line is left out: it is not NAME=value",
                hint="a value that begins with a quote has to end with one",
            )
    return values


def _line_of(binding: Binding) -> int:
    """Its own line; blank ones before it are part of what the parser calls the original."""
    written = binding.original.string
    blank = written[: len(written) - len(written.lstrip())]
    return binding.original.line + blank.count("\n")
