"""The conversation as Semantic Kernel keeps it, rebuilt from the record of each turn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from holodeck_backend_claude.contract import InputFile
from holodeck_backend_claude.earlier_turns import EarlierTurn
from holodeck_backend_claude.encodable import encodable
from holodeck_backend_claude.sk._imports import (
    AuthorRole,
    ChatHistory,
    ChatHistoryAgentThread,
    ChatMessageContent,
    FunctionCallContent,
    FunctionResultContent,
    TextContent,
)
from holodeck_backend_claude.sk.answers import CalledTool, ModelAnswer
from holodeck_backend_claude.sk.files import file_item
from holodeck_backend_claude.sk.turn import Turn

INTERRUPTED = "The call was interrupted before it returned; whether it had an effect is not known."


class Conversation:
    """The history of one conversation, which Semantic Kernel's thread reads and writes."""

    def __init__(self, session_id: str, context: Iterable[EarlierTurn] = ()) -> None:
        self.history = ChatHistory(
            messages=[_message(AuthorRole(turn.role), turn.content) for turn in context]
        )
        self.thread = ChatHistoryAgentThread(self.history, thread_id=session_id)


def user_message(text: str, files: Sequence[InputFile] = ()) -> ChatMessageContent:
    """What the user says, also where it is empty, after the files that go along with it."""
    said = [TextContent(text=encodable(text))] if text or not files else []
    return ChatMessageContent(role=AuthorRole.USER, items=[*map(file_item, files), *said])


def turn_messages(turn: Turn) -> list[ChatMessageContent]:
    """What the next turn is to know of this one, however it ended.

    Semantic Kernel's thread gets the texts of all answers of a turn run together, and of a turn
    that failed whatever had got there. Here each answer is a message of its own, and every call
    has a result. A turn of which nothing came is forgotten, so that it can be sent again.
    """
    answers = [message for answer in turn.answers for message in _answer_messages(answer)]
    return [user_message(turn.message, turn.files), *answers] if answers else []


def _answer_messages(answer: ModelAnswer) -> list[ChatMessageContent]:
    if not answer.calls:
        complete = answer.finished and answer.arrived
        return [_message(AuthorRole.ASSISTANT, answer.text)] if answer.text or complete else []
    said = [TextContent(text=answer.text)] if answer.text else []
    asked = [
        FunctionCallContent(
            id=call.call_id,
            name=call.wire_name,
            function_name=call.wire_name,
            arguments=call.raw_arguments,
        )
        for call in answer.calls
    ]
    message = ChatMessageContent(role=AuthorRole.ASSISTANT, items=[*said, *asked])
    return [message, *(result_message(call) for call in answer.calls)]


def result_message(call: CalledTool) -> ChatMessageContent:
    """What the model gets back of a call; a call without a result was interrupted."""
    result = INTERRUPTED if call.result is None else encodable(call.result)
    return FunctionResultContent(
        id=call.call_id, name=call.wire_name, function_name=call.wire_name, result=result
    ).to_chat_message_content()


def _message(role: AuthorRole, text: str) -> ChatMessageContent:
    return ChatMessageContent(role=role, items=[TextContent(text=encodable(text))])
