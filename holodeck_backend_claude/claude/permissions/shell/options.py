"""Options with which a program runs another one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from holodeck_backend_claude.claude.permissions.shell.findings import Unknown, Word, shown

_RUNNING = {
    "tar": re.compile(r"-[a-zA-Z]*[IF].*"),
    "git": re.compile(r"-c.*|-[a-zA-Z]*x.*|bisect|submodule|filter-branch|difftool|mergetool"
                      r"|config|-u.*|-[a-zA-Z]*O.*"),
    "man": re.compile(r"-[a-zA-Z]*[PH].*"),
    "mapfile": re.compile(r"-[a-zA-Z]*C.*"),
    "readarray": re.compile(r"-[a-zA-Z]*C.*"),
    "hash": re.compile(r"-[a-zA-Z]*p.*"),
    "jobs": re.compile(r"-[a-zA-Z]*x.*"),
    "rg": re.compile(r"--pre.*|--hostname-bin.*"),
    "npm": re.compile(r"exec|x"),
    "wget": re.compile(r"-[a-zA-Z]*e.*"),
    "apt": re.compile(r"-o.*"),
    "apt-get": re.compile(r"-o.*"),
    "cmake": re.compile(r"-[EP].*"),
    "gcc": re.compile(r"-wrapper.*|-B.*|-fplugin.*"),
    "cc": re.compile(r"-wrapper.*|-B.*|-fplugin.*"),
    "go": re.compile(r"--?(?:exec|toolexec|vettool).*"),
    "rpm": re.compile(r"-E.*"),
    "tcpdump": re.compile(r"-[a-zA-Z]*z.*"),
}  # fmt: skip
# Programs take the beginning of a long option for the whole one.
_RUNNING_LONG = {
    "tar": "checkpoint-action info-script new-volume-script rmt-command rsh-command to-command "
    "use-compress-program",
    "git": "config-env exec exec-path ext-diff open-files-in-pager receive-pack upload-pack",
    "sort": "compress-program",
    "split": "filter",
    "man": "html pager",
    "wget": "execute use-askpass",
    "dpkg": "pre-invoke post-invoke",
    "pip": "editor",
    "rpm": "eval",
    "install": "strip-program",
    "sdiff": "diff-program",
}
_OLD_TAR = re.compile(r"[a-zA-Z]*[IF][a-zA-Z]*")
_BEGINS_AS_OPTION = re.compile(r"['\"]*(?:[-$`*?\[{]|\\-)")


def has_running_options(name: str) -> bool:
    """Whether this program has options with which it runs another one."""
    return name in _RUNNING or name in _RUNNING_LONG


def may_be_option(word: Word) -> bool:
    """Whether a word of which nobody knows the value may become an option."""
    return isinstance(word, Unknown) and bool(_BEGINS_AS_OPTION.match(word.source))


def running_option(name: str, arguments: Sequence[Word]) -> str | None:
    """The argument with which a program runs another one, or may; None where there is none.

    Args:
        name: The program, without folders.
        arguments: Its arguments.
    """
    if not has_running_options(name):
        return None
    first = arguments[0] if arguments else None
    if name == "tar" and isinstance(first, str) and _OLD_TAR.fullmatch(first):
        return first
    is_message = name == "git" and arguments[:2] == ["commit", "-m"]
    names_only = False
    for index, word in enumerate(arguments):
        if isinstance(word, Unknown):
            is_certain = names_only or (is_message and index == 2 and word.is_one_word)
            if may_be_option(word) and not is_certain:
                return shown(word.source)
        elif _runs(name, word):
            return word
        names_only = names_only or word == "--"
    return None


def _runs(name: str, word: str) -> bool:
    short = _RUNNING.get(name)
    if short is not None and short.fullmatch(word):
        return True
    begun = word[2:].partition("=")[0] if word.startswith("--") else ""
    return bool(begun) and any(
        option.startswith(begun) or (name == "git" and begun.startswith(option))
        for option in _RUNNING_LONG.get(name, "").split()
    )
