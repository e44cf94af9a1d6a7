"""The one decision on each tool call of the model: may it run, and with which arguments."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holodeck_backend_claude.claude.permissions.paths import PathRefusedError, WorkingDirectory
from holodeck_backend_claude.claude.permissions.shell.command_line import check
from holodeck_backend_claude.claude.response_format import STRUCTURED_OUTPUT_TOOL
from holodeck_backend_claude.claude.settings.built_ins import BUILT_INS, FILE_TOOLS, SIDE_EFFECTS
from holodeck_backend_claude.claude.subagents import AGENT_TOOL, as_configured
from holodeck_backend_claude.consent import NO_SIDE_EFFECTS, Consent, Pausing
from holodeck_backend_claude.contract import PermissionRequest

if TYPE_CHECKING:
    from holodeck_backend_claude.calls import BoundTool
    from holodeck_backend_claude.claude.settings.grants import Grants

_REASONS = {
    "shell": "it runs a command line",
    "read": "it reads files",
    "change": "it changes files",
    "other": "it is a built-in tool",
}
_LEAVES_SANDBOX = "dangerouslyDisableSandbox"
_MAY_CHANGE = (
    f"{NO_SIDE_EFFECTS}, and nobody here knows whether a tool of claude.native_mcp changes anything"
)


@dataclass(frozen=True)
class Decision:
    """What is decided on a call.

    Attributes:
        refusal: Why it must not run; None where it may.
        arguments: What it runs with in place of what the model gave; None leaves that.
    """

    refusal: str | None = None
    arguments: Mapping[str, Any] | None = None


class Permissions:
    """Decides on the calls of one agent.

    Args:
        settings: What agent.yaml grants.
        built_ins: The built-ins that the model is offered.
        tools: The agent's own tools that it is offered, by their full names on the wire.
        working_directory: Where the file tools work; None where there are none.
        consent: Who agrees to calls.
        hidden: Variables of the process that a command line does not get: its credentials.
        is_elsewhere: Whether a tool is one that only Claude Code knows, and that is granted.
    """

    def __init__(  # noqa: PLR0913  one for each thing it depends on
        self,
        settings: Grants,
        *,
        built_ins: tuple[str, ...] = (),
        tools: Mapping[str, BoundTool],
        working_directory: Path | None,
        consent: Consent,
        hidden: Collection[str] = (),
        is_elsewhere: Callable[[str], bool] = lambda _name: False,
    ) -> None:
        self._settings = settings
        self._built_ins = built_ins
        self._tools = tools
        self._folder = WorkingDirectory(working_directory) if working_directory else None
        self._consent = consent
        self._hidden = sorted(hidden)
        self._is_elsewhere = is_elsewhere

    @property
    def are_needed(self) -> bool:
        """Whether there is any call to decide on: the agent's harmless tools need nobody."""
        may_change = self._built_ins or any(map(_is_destructive, self._tools.values()))
        return bool(may_change) or not self._consent.has_side_effects

    @property
    def undecided(self) -> tuple[str, ...]:
        """The wire names of the agent's tools that need no decision.

        Only these are allowed beforehand: SDK 0.2.82 lets an allowed tool run where a hook broke.
        """
        tools = self._tools.items()
        return tuple(name for name, tool in tools if not _is_destructive(tool))

    def name(self, wire_name: str) -> str:
        """What results call a tool."""
        tool = self._tools.get(wire_name)
        return tool.name if tool else wire_name

    async def decide(  # noqa: PLR0911  one for each kind of tool, and of refusal
        self,
        wire_name: str,
        arguments: Mapping[str, Any],
        *,
        cwd: str | None = None,
        pausing: Pausing = nullcontext,
    ) -> Decision:
        """Decide on one call.

        Args:
            wire_name: The tool, as Claude Code calls it.
            arguments: What the model gave it.
            cwd: Where relative paths of the call start.
            pausing: Stops the clock of the turn while somebody is asked.
        """
        tool = self._tools.get(wire_name)
        if tool is not None:
            return await self._on_own_tool(tool, arguments, pausing)
        if wire_name == STRUCTURED_OUTPUT_TOOL:
            return Decision()  # it is how the model gives its answer, and does nothing else
        if self._is_elsewhere(wire_name):
            return Decision(None if self._consent.has_side_effects else _MAY_CHANGE)
        if wire_name not in self._built_ins:
            return Decision(f"{wire_name} is not granted by agent.yaml")
        try:
            changed = self._within_rules(wire_name, arguments, cwd)
        except PathRefusedError as refused:
            return Decision(str(refused))
        if wire_name == "Bash" and (refusal := self._excluded(arguments)):
            return Decision(refusal)
        request = PermissionRequest(wire_name, arguments, _REASONS[BUILT_INS[wire_name].kind])
        refusal = await self._consent.why_not(
            request,
            has_side_effects=wire_name in SIDE_EFFECTS,
            has_to_ask=self._has_to_ask(wire_name),
            pausing=pausing,
        )
        return Decision(refusal, changed)

    # -------------------------------------------------------------------------------- within

    async def _on_own_tool(
        self, tool: BoundTool, arguments: Mapping[str, Any], pausing: Pausing
    ) -> Decision:
        """The agent's own tools are granted by being listed; a destructive one has to ask."""
        is_destructive = _is_destructive(tool)
        refusal = await self._consent.why_not(
            PermissionRequest(tool.name, arguments, "it is marked destructive"),
            has_side_effects=is_destructive,
            has_to_ask=is_destructive and self._settings.permission_mode != "acceptAll",
            pausing=pausing,
        )
        return Decision(refusal)

    def _within_rules(
        self, name: str, arguments: Mapping[str, Any], cwd: str | None
    ) -> Mapping[str, Any] | None:
        """The arguments with the very files that were checked.

        Raises:
            PathRefusedError: A path or pattern leaves the working directory, or is private.
        """
        if name == "Bash":
            return self._shielded(arguments)
        if name == AGENT_TOOL:
            return as_configured(arguments)
        if name not in FILE_TOOLS:
            return None
        if self._folder is None:
            raise PathRefusedError("there is no working directory")
        if name == "Glob":
            self._folder.check_pattern(arguments.get("pattern"))
        key = "path" if name in ("Glob", "Grep") else "file_path"
        if key == "path" and arguments.get(key) is None:
            found = self._folder.resolved(cwd or str(self._folder.root))
        else:
            found = self._folder.resolved(arguments.get(key), cwd)
        return {**arguments, key: str(found)}

    def _shielded(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """A command line without the credentials of the process, and in the sandbox."""
        sandbox = self._settings.sandbox
        may_leave = sandbox is not None and sandbox.allowUnsandboxedCommands
        kept = {k: v for k, v in arguments.items() if may_leave or k != _LEAVES_SANDBOX}
        if self._hidden:
            kept["command"] = f"unset {' '.join(self._hidden)}\n{arguments.get('command')}"
        return kept

    def _excluded(self, arguments: Mapping[str, Any]) -> str | None:
        bash = self._settings.bash
        command = arguments.get("command")
        if not isinstance(command, str):
            return "that is no command line"
        return check(command, bash.excluded_commands, allow_unsafe=bash.allow_unsafe)

    def _has_to_ask(self, name: str) -> bool:
        settings = self._settings
        if settings.permission_mode == "acceptAll" or name == AGENT_TOOL:
            return False  # a subagent is listed in agent.yaml, and its own calls come here too
        if name == "Bash" and settings.sandbox is not None:
            return not (settings.sandbox.enabled and settings.sandbox.autoAllowBashIfSandboxed)
        return not (settings.permission_mode == "acceptEdits" and name in FILE_TOOLS)

    @property
    def denied_unasked(self) -> tuple[str, ...]:
        """The tools that are offered although every call will be denied, as nobody can be asked.

        Not those that are denied because side effects are off: that is what was asked for.
        """
        if self._consent.can_ask:
            return ()
        changes = self._consent.has_side_effects
        accepts_all = self._settings.permission_mode == "acceptAll"
        own = [tool.name for tool in self._tools.values() if _is_destructive(tool)]
        return (
            *(
                n
                for n in self._built_ins
                if self._has_to_ask(n) and (changes or n not in SIDE_EFFECTS)
            ),
            *(own if changes and not accepts_all else ()),
        )


def _is_destructive(tool: BoundTool) -> bool:
    return tool.annotations.destructive is True
