"""Semantic Kernel's chat services, observed: each answer is recorded in its turn as it arrives."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, Self

from openai import AsyncAzureOpenAI, AsyncOpenAI
from openai.types.chat.chat_completion_chunk import ChatCompletionChunk
from pydantic import PrivateAttr

from holodeck_backend_claude.encodable import encodable
from holodeck_backend_claude.sk._imports import (
    AuthorRole,
    AzureChatCompletion,
    ChatHistory,
    FunctionCallChoiceConfiguration,
    FunctionCallContent,
    FunctionChoiceType,
    OpenAIChatCompletion,
    OpenAIChatCompletionBase,
    PromptExecutionSettings,
    ServiceResponseException,
    StreamingChatMessageContent,
    TextContent,
)
from holodeck_backend_claude.sk.answers import AnswerPiece, Tokens
from holodeck_backend_claude.sk.assembly import CallAssembly
from holodeck_backend_claude.sk.functions import input_schema
from holodeck_backend_claude.sk.provider_errors import AnswerCutError, retry_delay, turn_failure
from holodeck_backend_claude.sk.turn import Turn

NO_DOTENV = os.devnull
"""Semantic Kernel would read ``.env`` of the working folder, whoever's that is."""


class ObservedChat(OpenAIChatCompletionBase):
    """What every service of the OpenAI format is taught here.

    * The turn is told of each request, retry and chunk; an answer that just stops is an error.
    * A refused request is sent again, up to ``max_retries`` times; a running answer never is.
    * The tools on the wire have their own names and complete schemas.
    * The text before a tool call stays in the history.
    """

    _turn: Turn | None = PrivateAttr(default=None)
    _max_retries: int = PrivateAttr(default=0)

    def for_turn(self, turn: Turn, *, max_retries: int) -> Self:
        """The same service on the same connections, reporting to a turn."""
        observed = self.model_copy()
        observed._turn, observed._max_retries = turn, max_retries
        return observed

    async def _inner_get_streaming_chat_message_contents(
        self,
        chat_history: ChatHistory,
        settings: PromptExecutionSettings,
        function_invoke_attempt: int = 0,
    ) -> AsyncGenerator[list[StreamingChatMessageContent], Any]:
        turn = self._observing()
        turn.request_begins()
        stream = super()._inner_get_streaming_chat_message_contents(
            chat_history, settings, function_invoke_attempt
        )
        assembly = CallAssembly()
        async for messages in stream:
            for message in messages:
                _make_encodable(message)
                turn.piece_arrives(_piece(message))
                assembly.take_from(message)
                message.inner_content = None  # copied once per chunk where chunks are joined
            yield messages
        answer = turn.answers[-1]
        if not answer.finished:
            raise AnswerCutError
        calls = assembly.calls()
        turn.answer_ends([(str(c.id), str(c.name), str(c.arguments)) for c in calls])
        if not answer.refused and calls:
            yield [self._message(calls, function_invoke_attempt)]

    async def _send_request(self, settings: PromptExecutionSettings) -> Any:
        for attempt in itertools.count(1):
            try:
                return await super()._send_request(settings)
            except ServiceResponseException as refusal:
                delay = retry_delay(refusal, attempt)
                if delay is None or attempt > self._max_retries:
                    raise
                self._observing().retrying(attempt, turn_failure(refusal).reason, delay)
                await asyncio.sleep(delay)
        raise AssertionError("unreachable")

    def _message(
        self, calls: list[FunctionCallContent], attempt: int
    ) -> StreamingChatMessageContent:
        return StreamingChatMessageContent(
            role=AuthorRole.ASSISTANT,
            choice_index=0,
            items=[*calls],
            ai_model_id=self.ai_model_id,
            function_invoke_attempt=attempt,
        )

    def _observing(self) -> Turn:
        if self._turn is None:
            raise RuntimeError("this service belongs to no turn; use for_turn()")
        return self._turn

    def _update_function_choice_settings_callback(
        self,
    ) -> Callable[
        [FunctionCallChoiceConfiguration, PromptExecutionSettings, FunctionChoiceType], None
    ]:
        return _offer_tools

    def _prepare_chat_history_for_request(
        self, chat_history: ChatHistory, role_key: str = "role", content_key: str = "content"
    ) -> list[dict[str, Any]]:
        bodies: list[dict[str, Any]] = super()._prepare_chat_history_for_request(
            chat_history, role_key, content_key
        )
        for message, body in zip(chat_history.messages, bodies, strict=True):
            body.pop("name", None)  # optional for OpenAI, refused by some servers of its format
            if "tool_calls" in body and message.content:
                body[content_key] = message.content
        return bodies


class OpenAIChat(ObservedChat, OpenAIChatCompletion):
    """OpenAI, and every server that speaks its format."""

    def __init__(self, model: str, client: AsyncOpenAI) -> None:
        OpenAIChatCompletion.__init__(
            self, ai_model_id=model, async_client=client, env_file_path=NO_DOTENV
        )


class AzureChat(ObservedChat, AzureChatCompletion):
    """OpenAI's models on Azure."""

    def __init__(self, deployment: str, client: AsyncAzureOpenAI) -> None:
        AzureChatCompletion.__init__(
            self, deployment_name=deployment, async_client=client, env_file_path=NO_DOTENV
        )


def _offer_tools(
    configuration: FunctionCallChoiceConfiguration,
    settings: PromptExecutionSettings,
    choice: FunctionChoiceType,
) -> None:
    functions = configuration.available_functions or []
    if not functions:
        return
    settings.tool_choice = choice.value  # type: ignore[attr-defined]
    settings.tools = [  # type: ignore[attr-defined]
        {
            "type": "function",
            "function": {
                "name": function.name,
                "description": function.description or "",
                "parameters": input_schema(function),
            },
        }
        for function in functions
    ]


def _make_encodable(message: StreamingChatMessageContent) -> None:
    """Semantic Kernel keeps the texts of a message and sends them with the next request."""
    for item in message.items:
        if isinstance(item, TextContent):
            item.text = encodable(item.text or "")


def _piece(message: StreamingChatMessageContent) -> AnswerPiece:
    chunk = message.inner_content
    if not isinstance(chunk, ChatCompletionChunk):
        return AnswerPiece(text=message.content)
    choice = chunk.choices[0] if chunk.choices else None
    delta = choice.delta if choice else None
    refusal = (delta.refusal or "") if delta else ""
    ended_by = choice.finish_reason if choice else None
    return AnswerPiece(
        text=message.content + encodable(refusal),
        thinking=_thinking((delta.model_extra or {}) if delta else {}),
        refused=bool(refusal) or ended_by == "content_filter",
        finished=ended_by is not None,
        finish_reason=ended_by,
        answer_id=chunk.id or None,
        model=chunk.model or None,
        tokens=_tokens(chunk),
    )


def _thinking(beyond_openai: Mapping[str, Any]) -> str:
    """The thinking that servers of OpenAI's format send beside it, under one of two names."""
    thought = beyond_openai.get("reasoning_content") or beyond_openai.get("reasoning")
    return encodable(thought) if isinstance(thought, str) else ""


def _tokens(chunk: ChatCompletionChunk) -> Tokens | None:
    usage = chunk.usage
    if usage is None:
        return None
    details = usage.prompt_tokens_details
    return Tokens(
        input=usage.prompt_tokens or 0,
        output=usage.completion_tokens or 0,
        cache_read=details.cached_tokens if details else None,
    )
