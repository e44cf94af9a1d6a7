"""Interpreters of program text: whether they certainly run a file that is named."""

from __future__ import annotations

import re
from collections.abc import Sequence

from holodeck_backend_claude.claude.permissions.shell.findings import Unknown, Word

# Each with the options that are program text, and those without a value that are not.
_INTERPRETERS = {
    r"python[\d.]*|pypy[\d.]*": (r"-[A-Za-z]*[cm].*|-", r"-[bBdEIOPqsSuvx]+"),
    r"perl[\d.]*": (r"-[A-Za-z\d]*[eEM].*|-", r"-[tTuUWwX]+"),
    r"ruby[\d.]*": (r"-[A-Za-z\d]*[er].*|-", r"-[wvW]+"),
    r"node|nodejs|bun|deno": (
        r"-[a-z]*[epri].*|--eval.*|--print.*|--require.*|--import.*|eval|repl|-|x",
        r"--(?:no-)?warnings|--test|--enable-source-maps|--watch|--inspect",
    ),
    r"php[\d.]*": (r"-[A-Za-z]*[rBRFE].*|--run.*|-", r"-[nq]+"),
    r"Rscript|R|julia": (r"-[eE].*|--eval.*|-", r"--vanilla|--quiet"),
}
_TELLS_OF_ITSELF = re.compile(r"-V+|--version|--help|-h")
_INPUT = re.compile(r"/(?:dev|proc)/.*")


def is_interpreter(name: str) -> bool:
    """Whether a program is one of these."""
    return any(re.fullmatch(program, name) for program in _INTERPRETERS)


def program_text(name: str, arguments: Sequence[Word]) -> str | None:
    """Why an interpreter may run text that is in no file, or None.

    Args:
        name: The program, without folders.
        arguments: Its arguments.
    """
    for program, (code, harmless) in _INTERPRETERS.items():
        if re.fullmatch(program, name):
            known = [word for word in arguments if isinstance(word, str)]
            if len(arguments) == 1 and known and _TELLS_OF_ITSELF.fullmatch(known[0]):
                return None
            if any(re.fullmatch(code, word) for word in known):
                return f"{name} is given program text"
            return _why_no_file(name, arguments, harmless)
    return None


def _why_no_file(name: str, arguments: Sequence[Word], harmless: str) -> str | None:
    for word in arguments:
        if isinstance(word, Unknown):
            return f"{name} is given {word.source}"
        if _INPUT.fullmatch(word):
            break
        if not word.startswith("-"):
            return None
        if not re.fullmatch(harmless, word):
            return f"{name} has the option {word}"
    return f"{name} is given program text"
