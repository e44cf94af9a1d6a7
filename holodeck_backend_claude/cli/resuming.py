"""How a chat begins: anew or with a stored conversation; and how another one goes on with it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import click

from holodeck_backend_claude.contract import BackendSessionError

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from holodeck_backend_claude.config import Agent
    from holodeck_backend_claude.contract import AgentBackend, AgentSession, StoredSessions
    from holodeck_backend_claude.registry import Registry

LAST = "last"


def open_stored(agent: Agent, registry: Registry) -> AbstractAsyncContextManager[StoredSessions]:
    """The stored conversations of an agent, to be opened.

    Raises:
        BackendSessionError: It stores none.
    """
    from holodeck_backend_claude.opening import stored_sessions

    opening = stored_sessions(agent, registry)
    if opening is None:
        raise BackendSessionError(
            f"the agent {agent.name!r} stores no conversations; on the Claude backend, the block "
            f"claude.sessions of agent.yaml has them stored"
        )
    return opening


@runtime_checkable
class _KnowsWhatIsStored(Protocol):
    """A session that can tell whether all that was said in it is stored."""

    @property
    def not_stored(self) -> str | None: ...


@dataclass
class ChatBeginning:
    """What a chat begins with.

    Attributes:
        stored: Opens the conversations to choose from; None begins a new one.
        resume: The id of one of them, or ``last``.
        fork: Whether that one stays as it is.
        is_stored: Whether the chat can be resumed later.
        session_id: The id of the chat, once a turn told.
        lacks_end: Whether what was said last is not stored, once the session is closed.
    """

    stored: AbstractAsyncContextManager[StoredSessions] | None
    resume: str | None
    fork: bool
    is_stored: bool
    session_id: str | None = None
    lacks_end: bool = False

    async def session(self, backend: AgentBackend) -> AgentSession:
        """Begin the chat's session.

        Raises:
            BackendSessionError: There is no such conversation, or it did not start.
        """
        if self.stored is None or self.resume is None:
            return await backend.create_session()
        session_id = self.resume
        if session_id == LAST:
            async with self.stored as stored:
                known = await stored.newest_first()
                if not known:
                    raise BackendSessionError(
                        f"there is no conversation to go on with in {stored.place}"
                    )
            session_id = known[0].session_id
        return await backend.create_session(resume=session_id, fork=self.fork)

    def closed(self, session: AgentSession) -> None:
        """The chat's session has ended: what is not stored by now will not be."""
        self.lacks_end = isinstance(session, _KnowsWhatIsStored) and session.not_stored is not None

    def tell_how_to_go_on(self, agent_file: Path) -> None:
        """Say on stderr which command continues this chat, where one does."""
        if not self.is_stored or self.session_id is None:
            return
        file = shlex.quote(str(agent_file))
        said = f"To go on: holodeck-claude chat {file} --resume {self.session_id}"
        if self.lacks_end:
            said = f"The end of this chat is not stored; what is: holodeck-claude sessions {file}"
        click.secho(said, dim=True, err=True)


def beginning(agent: Agent, registry: Registry, *, resume: str | None, fork: bool) -> ChatBeginning:
    """What a chat begins with, by what the command line says.

    Raises:
        BackendSessionError: A conversation is to be resumed, and the agent stores none.
    """
    from holodeck_backend_claude.opening import stored_sessions

    if resume is None:
        is_stored = stored_sessions(agent, registry) is not None
        return ChatBeginning(None, None, fork=False, is_stored=is_stored)
    return ChatBeginning(open_stored(agent, registry), resume, fork=fork, is_stored=True)
