"""What ``claude:`` in agent.yaml grants the model beyond the agent's own tools, and how."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self, TypeAlias, get_args

from pydantic import (
    AfterValidator,
    Field,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
)

from holodeck_backend_claude.claude.settings.built_ins import BUILT_INS
from holodeck_backend_claude.claude.settings.sandbox import SandboxSettings
from holodeck_backend_claude.config.base import Flag, Strict
from holodeck_backend_claude.config.paths import ExistingPath

ToolName = Annotated[str, Field(min_length=1)]
PermissionMode: TypeAlias = Literal["manual", "acceptEdits", "acceptAll"]

NEVER_GRANTED = frozenset(
    [
        "Task",
        "TaskOutput",
        "TaskStop",
        "BashOutput",
        "KillShell",
        "KillBash",
        "NotebookEdit",
        "NotebookRead",
        "TodoWrite",
        "WebFetch",
        "MultiEdit",
        "LS",
        "ExitPlanMode",
        "EnterPlanMode",
        "AskUserQuestion",
        "Skill",
        "SlashCommand",
        "ToolSearch",
    ]
)
"""Names of Claude Code's other tools, which somebody may have met elsewhere."""

_OTHER_MODES = {
    "default": "'manual' asks in the same way",
    "plan": (
        "there is no mode that only plans; 'manual' asks before a call, and tools that are not "
        "granted are not offered at all"
    ),
    "dontAsk": "'manual' denies what would be asked for where nobody can be asked",
    "bypassPermissions": "'acceptAll' asks for nothing",
}
"""Claude Code's own modes, and what to say here instead."""

_PLAIN_WORDS = re.compile(r"[\w./@%+:=,-]+( [\w./@%+:=,-]+)*")


def _command(text: str) -> str:
    words = " ".join(text.split())
    if not _PLAIN_WORDS.fullmatch(words) or words.startswith("-"):
        raise ValueError(
            "a command is its name, and words that follow it where it is excluded only with "
            "them, such as 'rm' or 'git push'; quotes, patterns and other signs of the shell "
            "have no meaning here"
        )
    return words


Command = Annotated[str, AfterValidator(_command)]
FolderPath = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1), ExistingPath("folder")
]


class BashGrant(Strict):
    """``bash:`` lets the model run command lines.

    Attributes:
        enabled: Off unless asked for.
        excluded_commands: Commands that no command line may run, by name (``rm``) or by name and
            further words (``git push``).
        allow_unsafe: With exclusions: True runs a command line of which it cannot be told which
            commands it runs; False denies it. What certainly runs an excluded one is denied.
    """

    enabled: Flag = False
    excluded_commands: tuple[Command, ...] = ()
    allow_unsafe: Flag = False

    @model_validator(mode="after")
    def _of_use(self) -> Self:
        if self.allow_unsafe and not self.excluded_commands:
            raise ValueError(
                "'allow_unsafe' has a meaning only with 'excluded_commands'; remove it, or name "
                "the commands that are excluded"
            )
        return self


class FileSystemGrant(Strict):
    """``file_system:`` lets the model use the files in its working directory.

    Attributes:
        read: Read files, find them by name and search in them (Read, Glob, Grep).
        write: Make files, and replace them whole (Write).
        edit: Replace parts of files (Edit).
    """

    read: Flag = False
    write: Flag = False
    edit: Flag = False


class Grants(Strict):
    """What the model may use, and who is asked.

    Attributes:
        i_understand_this_is_unsafe: ``permission_mode: acceptAll`` needs it.
        permission_mode: ``manual`` asks before each call of a built-in or destructive tool;
            ``acceptEdits`` does not ask for the file tools, ``acceptAll`` for nothing. Where
            nobody can be asked, what would be asked for is denied.
        bash: Command lines.
        file_system: Files.
        web_search: The search of the provider.
        working_directory: Where the model's files are, relative to agent.yaml; by default the
            folder of agent.yaml once files or command lines are granted.
        sandbox: How Claude Code confines command lines.
        allowed_tools: If given, only these tools are offered to the model, by the names it sees:
            built-ins (``Read``) and the agent's own (``kb_search``).
        disallowed_tools: These are not offered.
    """

    i_understand_this_is_unsafe: Flag = False  # the mode is held against it, so it comes first
    permission_mode: PermissionMode = "manual"
    bash: BashGrant = BashGrant()
    file_system: FileSystemGrant = FileSystemGrant()
    web_search: Flag = False
    working_directory: FolderPath | None = None
    sandbox: SandboxSettings | None = None
    allowed_tools: tuple[ToolName, ...] | None = None
    disallowed_tools: tuple[ToolName, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _said_nothing(cls, data: Any) -> Any:
        """A key without a value says as much as no key."""
        if not isinstance(data, dict):
            return data
        return {key: value for key, value in data.items() if value is not None}

    @field_validator("permission_mode", mode="before")
    @classmethod
    def _is_a_mode_of_ours(cls, mode: object) -> object:
        if isinstance(mode, str) and mode in _OTHER_MODES:
            raise ValueError(
                f"{mode!r} is a mode of Claude Code that is not taken here: {_OTHER_MODES[mode]}; "
                f"the modes here are {', '.join(get_args(PermissionMode))}"
            )
        return mode

    @field_validator("permission_mode")
    @classmethod
    def _knows_what_it_does(cls, mode: PermissionMode, info: ValidationInfo) -> PermissionMode:
        if mode == "acceptAll" and info.data.get("i_understand_this_is_unsafe") is False:
            raise ValueError(
                "'permission_mode: acceptAll' lets the model do without asking whatever its tools "
                "can do; add 'i_understand_this_is_unsafe: true', or choose manual or acceptEdits"
            )
        return mode

    @model_validator(mode="after")
    def _accepts_what_it_understands(self) -> Self:
        if self.i_understand_this_is_unsafe and self.permission_mode != "acceptAll":
            raise ValueError(
                "'i_understand_this_is_unsafe' belongs to 'permission_mode: acceptAll'; remove it"
            )
        return self

    @model_validator(mode="after")
    def _has_a_shell_to_confine(self) -> Self:
        if self.sandbox is not None and not self.bash.enabled:
            raise ValueError("'sandbox' confines command lines; it needs 'bash.enabled: true'")
        return self

    @model_validator(mode="after")
    def _has_files(self) -> Self:
        needs = self.bash.enabled or any(self.file_system.model_dump().values())
        if self.working_directory is not None and not needs:
            raise ValueError(
                "'working_directory' is where files and command lines are; it needs "
                "'bash.enabled: true' or something in 'file_system'"
            )
        return self

    @model_validator(mode="after")
    def _allows_what_is_granted(self) -> Self:
        for name in self.allowed_tools or ():
            built_in = BUILT_INS.get(name)
            if built_in is not None and not built_in.is_granted(self):
                raise ValueError(
                    f"'allowed_tools' names {name}, which is not granted; a list of allowed tools "
                    f"only restricts. To grant it, add '{built_in.granted_by}' to 'claude'"
                )
        for name in (*(self.allowed_tools or ()), *self.disallowed_tools):
            if name in NEVER_GRANTED:
                raise ValueError(
                    f"{name} is a tool of Claude Code that is never offered here; its tools that "
                    f"can be granted are: {', '.join(BUILT_INS)}"
                )
        return self
