"""The agent on Semantic Kernel: it runs the turns of conversations, one ``Turn`` at a time."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, cast

from holodeck_backend_claude import outcomes
from holodeck_backend_claude.sk._imports import (
    ChatCompletionAgent,
    FunctionChoiceBehavior,
    Kernel,
    KernelArguments,
    PromptExecutionSettings,
)
from holodeck_backend_claude.sk.functions import tool_plugin
from holodeck_backend_claude.sk.history import Conversation, turn_messages, user_message
from holodeck_backend_claude.sk.kernel import TurnKernel
from holodeck_backend_claude.sk.provider_errors import turn_failure
from holodeck_backend_claude.sk.turn import TurnFailedError

if TYPE_CHECKING:
    from holodeck_backend_claude.calls import BoundTool
    from holodeck_backend_claude.contract import JsonSchema
    from holodeck_backend_claude.sk.service import ObservedChat
    from holodeck_backend_claude.sk.turn import Turn


class VerbatimAgent(ChatCompletionAgent):
    """An agent whose instructions are a text, not a template.

    Semantic Kernel would run whatever stands between ``{{`` and ``}}``, functions included.
    """

    async def format_instructions(
        self,
        kernel: Kernel,
        arguments: KernelArguments | None = None,
    ) -> str | None:
        """The instructions as they are."""
        return self.instructions


class KernelAgent:
    """One agent: a model, its instructions and its tools. It keeps no conversation itself.

    Args:
        service: Asks the model.
        settings: What every request says beside the conversation.
        name: The agent's name.
        instructions: The system prompt.
        tools: The tools by their names on the wire.
        timeout: Seconds one turn may take.
        max_retries: How often a refused request is sent again.
        response_schema: The form that answers have to have; None leaves them free.

    Attributes:
        instructions: As given.
        tool_names: What the tools are called in results.
    """

    def __init__(  # noqa: PLR0913  # all of them are what an agent consists of
        self,
        *,
        service: ObservedChat,
        settings: PromptExecutionSettings,
        name: str,
        instructions: str,
        tools: Mapping[str, BoundTool],
        timeout: float,
        max_retries: int,
        response_schema: JsonSchema | None = None,
    ) -> None:
        self.response_schema = response_schema
        self.instructions = instructions
        self.tool_names = frozenset(tool.name for tool in tools.values())
        self._service = service
        self._plugin = tool_plugin(tools)
        self._timeout = timeout
        self._max_retries = max_retries
        self._agent = VerbatimAgent(
            name=re.sub(r"[^0-9A-Za-z_-]", "_", name),
            instructions=instructions or None,
            arguments=KernelArguments(settings=settings),
            # The turn ends itself at its limit, before a request. At a limit of its own, Semantic
            # Kernel would stop without a word, or ask once more without the tools.
            function_choice_behavior=FunctionChoiceBehavior.Auto(
                maximum_auto_invoke_attempts=sys.maxsize
            ),
        )

    async def run(self, turn: Turn, conversation: Conversation) -> None:
        """Run a turn to its end; whatever happens but a cancellation is the turn's result.

        The history of the conversation is complete afterwards, also after a cancellation.
        """
        history = conversation.history.messages
        before = len(history)
        turn.begin()
        try:
            failure = await self._failure_of(turn, conversation)
        finally:
            history[before:] = turn_messages(turn)
        turn.end(failure)

    async def _failure_of(self, turn: Turn, conversation: Conversation) -> TurnFailedError | None:
        limit = turn.clock.limit = asyncio.timeout(self._timeout)
        try:
            async with limit:
                await self._drive(turn, conversation)
        except Exception as error:  # noqa: BLE001  # a turn has a result, whatever went wrong
            if limit.expired():
                return TurnFailedError(outcomes.TIMED_OUT)
            return turn_failure(error)
        return None

    async def _drive(self, turn: Turn, conversation: Conversation) -> None:
        service = self._service.for_turn(turn, max_retries=self._max_retries)
        kernel = TurnKernel(turn, service=service, plugin=self._plugin)
        answers = self._agent.invoke_stream(
            user_message(turn.message, turn.files), thread=conversation.thread, kernel=kernel
        )
        async with aclosing(cast("AsyncGenerator[object, None]", answers)):
            async for _ in answers:
                pass  # the service and the kernel have reported it to the turn
