"""Which tools the model is offered: what is granted, restricted by the lists in agent.yaml."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holodeck_backend_claude.claude.permissions.paths import PRIVATE_RULES
from holodeck_backend_claude.claude.settings.built_ins import BUILT_INS, FILE_TOOLS, granted
from holodeck_backend_claude.config.problems import did_you_mean
from holodeck_backend_claude.contract import BackendInitError

if TYPE_CHECKING:
    from holodeck_backend_claude.calls import BoundTool
    from holodeck_backend_claude.claude.settings.grants import Grants

_SANDBOX_PROGRAMS = ("bwrap", "socat")


def offered_tools(
    settings: Grants,
    tools: Mapping[str, BoundTool],
    *,
    is_elsewhere: Callable[[str], bool] = lambda _name: False,
) -> dict[str, BoundTool]:
    """The agent's own tools that the model is offered, by their names on the wire.

    Args:
        settings: Their ``allowed_tools`` restricts, ``disallowed_tools`` removes.
        tools: All of them.
        is_elsewhere: Whether a name may be that of a tool which only Claude Code knows.

    Raises:
        BackendInitError: A list names a tool that does not exist.
    """
    for key in ("allowed_tools", "disallowed_tools"):
        names = getattr(settings, key) or ()
        _check_names(key, tuple(name for name in names if not is_elsewhere(name)), tools)
    allowed, refused = settings.allowed_tools, settings.disallowed_tools
    return {
        wire: tool
        for wire, tool in tools.items()
        if (allowed is None or tool.name in allowed or wire in allowed)
        and tool.name not in refused
        and wire not in refused
    }


def _check_names(key: str, names: tuple[str, ...], tools: Mapping[str, BoundTool]) -> None:
    own = {tool.name for tool in tools.values()}
    for name in names:
        if name in own or name in tools or name in BUILT_INS:
            continue
        raise BackendInitError(
            f"claude.{key} names {name!r}, which does not exist"
            f"{did_you_mean(name, [*own, *BUILT_INS])}. The agent's own tools are: "
            f"{', '.join(sorted(own)) or 'none'}; the built-in ones: {', '.join(BUILT_INS)}"
        )


def working_directory(settings: Grants, base_dir: Path) -> Path | None:
    """The folder of the model's files, or None where no tool that is offered needs one.

    Args:
        settings: What agent.yaml grants.
        base_dir: The folder of agent.yaml.

    Raises:
        BackendInitError: The folder is not there.
    """
    if not {"Bash", *FILE_TOOLS}.intersection(granted(settings)):
        return None
    folder = base_dir / (settings.working_directory or ".")
    if not folder.is_dir():
        raise BackendInitError(f"claude.working_directory: there is no folder {folder}; make it")
    return folder.resolve()


def check_sandbox(settings: Grants) -> None:
    """Refuse a sandbox that Claude Code could not set up: it would go on without one.

    Raises:
        BackendInitError: A program is missing that it needs.
    """
    if settings.sandbox is None or not settings.sandbox.enabled or sys.platform != "linux":
        return
    missing = [name for name in _SANDBOX_PROGRAMS if shutil.which(name) is None]
    if missing:
        raise BackendInitError(
            f"claude.sandbox needs {' and '.join(missing)}, which this machine does not have; "
            "install bubblewrap and socat, or set sandbox.enabled to false. Without them Claude "
            "Code would run command lines unconfined"
        )


def permission_options(
    settings: Grants, folder: Path | None, *, refused: Sequence[str] = ()
) -> dict[str, Any]:
    """The fields of ``ClaudeAgentOptions`` about files and command lines.

    Args:
        settings: What agent.yaml grants.
        folder: The working directory; None where there is none.
        refused: Tools that only Claude Code knows, and that are not offered.
    """
    options: dict[str, Any] = {}
    if folder is not None or refused:
        options["disallowed_tools"] = [*(PRIVATE_RULES if folder is not None else ()), *refused]
    if settings.sandbox is not None:
        options["sandbox"] = settings.sandbox.as_sdk()
    return options
