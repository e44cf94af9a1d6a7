"""How the conversation of one process begins: new, resumed, forked, or taken up after a crash."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from holodeck_backend_claude.claude.transcripts.files import (
    Transcripts,
    entries_of,
    mended_after_crash,
    write_transcripts,
)

if TYPE_CHECKING:
    from holodeck_backend_claude.claude.transcripts.recording import Recording


@dataclass(frozen=True)
class Beginning:
    """How one conversation begins.

    Attributes:
        session_id: Its id, known before the process is.
        resumes: The id of the conversation whose history it begins with; another one than its own
            leaves that one as it is.
        transcripts: That history.
        recording: Takes what is said in it to a store; None leaves it in the private folder.
    """

    session_id: str = field(default_factory=lambda: str(uuid4()))
    resumes: str | None = None
    transcripts: Transcripts = field(default_factory=dict, repr=False)
    recording: Recording | None = None

    def options(self) -> dict[str, Any]:
        """The SDK's options for it."""
        options: dict[str, Any] = {"session_id": self.session_id}
        if self.resumes == self.session_id:
            options = {"resume": self.session_id}
        elif self.resumes is not None:
            options |= {"resume": self.resumes, "fork_session": True}
        if self.recording is not None:
            # eager: a program that is killed in the middle of a turn leaves what it did so far
            options |= {"session_store": self.recording, "session_store_flush": "eager"}
        return options

    def prepare(self, config: Path, working_directory: Path) -> None:
        """Put the history where the process looks for it.

        Args:
            config: The configuration folder of the process.
            working_directory: Where it will run.
        """
        if self.recording is not None:
            self.recording.is_also_in(config)
        if self.resumes is not None and self.transcripts:
            write_transcripts(config, working_directory, self.resumes, self.transcripts)

    async def give_up(self) -> None:
        """Where no process begins it after all."""
        if self.recording is not None:
            await self.recording.close()

    async def again(self, config: Path) -> Beginning:
        """The same conversation for another process, after the first one ended on its own.

        Args:
            config: The configuration folder of the first, which the other one takes over.
        """
        written = mended_after_crash(config, self.session_id)
        if written is None:
            return self  # nobody spoke yet
        if self.recording is not None:
            self.recording.catch_up(list(entries_of(written)))
        return replace(self, resumes=self.session_id, transcripts={})
