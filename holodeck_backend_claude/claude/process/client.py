"""One Claude Code process with its client: start, a turn, stop, end, all within bounds of time.

Everything here has to run in the task that connected the client; ``session.py`` sees to that.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING

from holodeck_backend_claude.claude._compat import (
    bundled_cli,
    known_version,
    literal_prompt,
    pipes_of,
)
from holodeck_backend_claude.claude.content_blocks import as_prompt
from holodeck_backend_claude.claude.native_mcp import native_variables
from holodeck_backend_claude.claude.options import Conversation, Launch, build_options
from holodeck_backend_claude.claude.process.ending import can_be_replaced, has_last_work
from holodeck_backend_claude.claude.process.environment import child_environment, kept_names
from holodeck_backend_claude.claude.process.family import ADOPTS
from holodeck_backend_claude.claude.process.native_status import check_native_servers
from holodeck_backend_claude.claude.process.private_folder import PrivateFolder
from holodeck_backend_claude.claude.process.start_slots import start_slot
from holodeck_backend_claude.claude.process.starting import Start
from holodeck_backend_claude.concurrency import in_thread
from holodeck_backend_claude.contract import BackendSessionError
from holodeck_backend_claude.redaction import mask_secrets

if TYPE_CHECKING:
    from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, Message

    from holodeck_backend_claude.config import Agent
    from holodeck_backend_claude.contract import InputFile

log = logging.getLogger(__name__)

START_SECONDS = 60.0
STOP_SECONDS = 5.0
_STDERR_LINES = 20
_STDERR_CHARS = 2_000  # of one line: a process can write megabytes without a line end


class Client:
    """A connected client.

    Args:
        agent: What to run.
        conversation: What is particular to the conversation it is for.
        folder: That of a client before it, whose conversation it takes up; None makes a new one.

    Attributes:
        can_be_replaced: Whether another one can go on with its conversation unnoticed.
    """

    def __init__(
        self, agent: Agent, conversation: Conversation, *, folder: PrivateFolder | None = None
    ) -> None:
        self._agent = agent
        self._conversation = conversation
        self._folder = folder
        self._sdk: ClaudeSDKClient | None = None
        self._stderr: deque[str] = deque(maxlen=_STDERR_LINES)
        self._has_last_work = False
        self.can_be_replaced = False

    async def start(self) -> None:
        """Start the process and connect.

        Raises:
            BackendSessionError: It did not start; the text has the last lines of its stderr.
        """
        from claude_agent_sdk import ClaudeSDKClient

        try:
            folder, options = self._prepare()
        except OSError as cause:
            raise BackendSessionError(
                f"Claude Code did not start: its private folder cannot be written: {cause}"
            ) from cause
        self._sdk = ClaudeSDKClient(options)
        start = Start(folder, seconds=START_SECONDS)
        try:
            async with start_slot():
                await start.connect(self._sdk)
        except Exception as cause:
            what = start.problem or mask_secrets(str(cause))
            raise BackendSessionError(
                f"Claude Code did not start: {what}{self.last_words()}"
            ) from cause
        await check_native_servers(self._sdk, self._conversation.profile.native, home=folder.path)

    def _prepare(self) -> tuple[PrivateFolder, ClaudeAgentOptions]:
        """Write what the process is started with."""
        self._folder = folder = self._folder or PrivateFolder()
        where = self._conversation.profile.working_directory or folder.working_directory
        native = self._conversation.profile.native
        environment = child_environment(self._agent, self._agent.environment(), folder.path)
        environment |= native_variables(native)
        environment |= self._conversation.variables
        program = find_program()
        folder.runs_commands = "Bash" in self._conversation.profile.built_ins
        folder.runs_servers = bool(native.configs)
        adopts = {ADOPTS: "1"} if folder.runs_commands or folder.runs_servers else {}
        launch = Launch(
            cli_path=folder.write_launcher(
                program, kept_names(environment), version=known_version(program)
            ),
            env=environment | adopts,
            system_prompt_file=folder.write_system_prompt(self._conversation.profile.system_prompt),
            working_directory=where,
            stderr=self._take_stderr,
            beginning=self._conversation.beginning,
            mcp_servers_file=native.write(folder.path),
        )
        self._conversation.beginning.prepare(folder.configuration, where)
        options = build_options(
            self._agent,
            mcp_configs=self._conversation.tool_servers,
            allowed_tools=self._conversation.allowed_tools,
            profile=self._conversation.profile,
            hooks=self._conversation.hooks,
            launch=launch,
        )
        self._has_last_work = has_last_work(options, folder.path)
        self.can_be_replaced = can_be_replaced(options)
        return folder, options

    def kill(self) -> None:
        """End the process group at once; the client is still to be ended in order."""
        if self._folder is not None:
            self._folder.kill()

    def _take_stderr(self, line: str) -> None:
        self._stderr.append(line[-_STDERR_CHARS:])

    def last_words(self) -> str:
        """The last lines of the process's stderr, or nothing."""
        if not self._stderr:
            return ""
        return mask_secrets("\nIts last output:\n  " + "\n  ".join(self._stderr))

    @property
    def folder(self) -> PrivateFolder | None:
        """The private folder, until the client is ended."""
        return self._folder

    @property
    def pid(self) -> int | None:
        """The process id of Claude Code, for logs and tests."""
        return self._folder.pid() if self._folder else None

    @property
    def is_running(self) -> bool:
        """Whether the process runs."""
        return self._folder is not None and self._folder.is_running()

    async def send(self, message: str, files: Sequence[InputFile] = ()) -> None:
        """Give the process a user message, with the files that go along with it."""
        prompt = as_prompt(message, files) if files else literal_prompt(message)
        await self._connected.query(prompt)

    async def receive(self) -> AsyncIterator[Message]:
        """The SDK's messages up to and including the result of the turn.

        A good result before anything else is left over from the turn before: it is passed over.
        """
        from claude_agent_sdk import ResultMessage

        begun, ended = False, False
        while not ended:
            ended = True
            async for message in self._connected.receive_response():
                if isinstance(message, ResultMessage) and not begun and not message.is_error:
                    ended = False
                    continue
                begun = True
                yield message

    @property
    def _connected(self) -> ClaudeSDKClient:
        if self._sdk is None:
            raise BackendSessionError("Claude Code is not running")
        return self._sdk

    async def interrupt(self, feed: Callable[[Message], object]) -> bool:
        """Stop the running turn and take what still comes, so that another can begin.

        Returns:
            True if the process has ended the turn; False if it is not to be used again.
        """
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await self._connected.interrupt()
                async for message in self._connected.receive_response():
                    feed(message)
        except Exception as cause:  # noqa: BLE001  whatever it is, the process is given up
            log.debug("Claude Code did not stop its turn: %s", mask_secrets(str(cause)))
            return False
        return True

    async def end(self, *, at_once: bool = False) -> None:
        """As :meth:`stop`, and remove the folder; never raises."""
        await self.stop(at_once=at_once)
        folder, self._folder = self._folder, None
        if folder is None:
            return
        if self._has_last_work:  # its tools may have written no end of files
            await in_thread(folder.remove)
        else:
            folder.remove()

    def abandon(self) -> None:
        """End the process and remove the folder, where the event loop runs no longer."""
        if self._folder is not None:
            self._folder.abandon()

    async def stop(self, *, at_once: bool = False) -> None:
        """Disconnect and end the whole process group; never raises.

        Args:
            at_once: Do not wait for the process to finish what it is doing; nor is waited where
                it has nothing to do.
        """
        sdk, self._sdk = self._sdk, None
        folder = self._folder
        if folder is None:
            return
        # Killing the group is what makes a disconnect that hangs come to its end, in order.
        folder.end_family()
        servers = folder.servers()  # they may end by themselves first
        seconds = 0.0 if at_once or not self._has_last_work else STOP_SECONDS
        killer = asyncio.get_running_loop().call_later(seconds, folder.kill)
        if sdk is not None:
            pipes = pipes_of(sdk)
            with contextlib.suppress(Exception):
                async with asyncio.timeout(3 * STOP_SECONDS):
                    await sdk.disconnect()
            if pipes is not None:
                pipes.close()
        killer.cancel()
        folder.kill()
        for each in servers:
            each.kill()
        folder.forget_process()


def find_program() -> str:
    """The path of the ``claude`` program.

    Raises:
        BackendSessionError: There is none.
    """
    program = bundled_cli()
    if program is None:
        raise BackendSessionError(
            "Claude Code is missing: this installation of claude-agent-sdk brings no 'claude' "
            "program for this platform, and none is on PATH. Reinstall claude-agent-sdk, or "
            "install Claude Code."
        )
    return program
