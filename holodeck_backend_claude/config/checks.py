"""What the blocks of an agent file have to agree on with each other and with the plugins."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from holodeck_backend_claude.config.agent_reader import Reading
from holodeck_backend_claude.config.problems import DataPath, did_you_mean, listed, shorten
from holodeck_backend_claude.config.root_keys import from_plugins, settings_backends

if TYPE_CHECKING:
    from holodeck_backend_claude.registry import BackendChoice, Registry


def check_tool_names(reading: Reading) -> None:
    """Report every tool that has the name of one above it."""
    tools = reading.node(("tools",))
    first: dict[str, int] = {}
    for index, tool in enumerate(tools.items if tools else ()):
        node = tool.child("name")
        if node is None or not isinstance(node.value, str):
            continue
        name = node.value.strip()
        if name in first:
            reading.error(
                ("tools", index, "name"),
                f"the name {shorten(name)} is taken by the tool in line {first[name]}",
                hint="give each tool a name of its own: the model calls it by that name",
            )
        else:
            first[name] = node.mark.line


def check_programs(reading: Reading) -> None:
    """Notice MCP servers whose program is not on PATH here; the agent may run elsewhere."""
    tools = reading.data(("tools",))
    for index, tool in enumerate(tools if isinstance(tools, list) else ()):
        if not isinstance(tool, dict) or tool.get("type") != "mcp" or tool.get("optional") is True:
            continue
        command, env = tool.get("command"), tool.get("env")
        if not isinstance(command, str) or "/" in command or not command.strip():
            continue
        path = env.get("PATH") if isinstance(env, dict) else None
        if shutil.which(command.strip(), path=path if isinstance(path, str) else None) is None:
            reading.notice(
                ("tools", index, "command"),
                f"there is no program {shorten(command)} on PATH here",
                hint="install it, or give its path, before the agent runs",
            )


def check_backend(reading: Reading, registry: Registry, override: str | None = None) -> None:
    """Report a backend or provider that no plugin brings, and blocks of other backends.

    Args:
        reading: The file.
        registry: What the plugins bring.
        override: The backend that runs the agent, whatever the file says; whoever makes it
            says so where it is unknown.
    """
    chosen = override or _chosen(reading, registry)
    if chosen is None:
        return
    for key, provided in settings_backends(registry).items():
        node = reading.node((key,))
        if node is not None and node.value is not None and provided.value.name != chosen:
            reading.notice(
                (key,),
                f"{key!r} is for the backend {provided.value.name!r}; this agent runs on "
                f"{chosen!r}, which does not read it",
            )


def _chosen(reading: Reading, registry: Registry) -> str | None:
    backend, provider = _text(reading, ("backend",)), _text(reading, ("model", "provider"))
    if not backend and not provider:
        return None
    choice = registry.choose(backend or None, provider or "")
    if choice.provided is None:
        _report(reading, registry, choice)
        return None
    return choice.provided.value.name


def _text(reading: Reading, path: DataPath) -> str | None:
    value = reading.data(path)
    return value.strip() if isinstance(value, str) else None


def _report(reading: Reading, registry: Registry, missing: BackendChoice) -> None:
    kind, name = missing.kind, missing.name
    if missing.absent:
        message = f"no loaded plugin brings the {kind} {shorten(name)}: {missing.absent}"
    else:
        message = f"unknown {kind} {shorten(name)}{did_you_mean(name, missing.known)}"
    hint = f"known: {listed(missing.known)}; a plugin may provide more: {from_plugins(registry)}"
    path: DataPath = ("backend",) if kind == "backend" else ("model", "provider")
    reading.error(path, message, hint=hint)
