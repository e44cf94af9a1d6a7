"""The span and the metrics of one answer of a model, written when it is complete."""

from __future__ import annotations

from opentelemetry.trace import SpanKind, Status, StatusCode

from holodeck_backend_claude.tracing import names
from holodeck_backend_claude.tracing.instruments import Instruments, Value
from holodeck_backend_claude.tracing.operations import Actor, now
from holodeck_backend_claude.tracing.turn import TracedAnswer


def write_answer(
    answer: TracedAnswer,
    instruments: Instruments,
    asking: Actor,
    *,
    conversation_id: str | None,
    own_model: bool,
) -> None:
    """Write an answer down; its request began when ``asking`` had nothing else to wait for.

    Args:
        answer: The answer, or the request that got none.
        instruments: What to write with.
        asking: The agent or subagent whose model it is.
        conversation_id: The conversation, where it is known.
        own_model: Whether the request went to the agent's own model; that of a subagent is known
            by its answer only.
    """
    ended = answer.ended or now()
    started = min(asking.ready, ended)
    attributes = _attributes(answer, instruments, conversation_id, own_model=own_model)
    model = attributes.get(names.REQUEST_MODEL, answer.model)
    span = instruments.tracer.start_span(
        f"{names.CHAT} {model}" if model else names.CHAT,
        context=asking.within,
        kind=SpanKind.CLIENT,
        attributes=attributes,
        start_time=started,
    )
    if answer.finish_reason:
        span.set_attribute(names.FINISH_REASONS, [answer.finish_reason])
    if answer.error:
        span.set_status(Status(StatusCode.ERROR))
    span.end(ended)
    asking.ready = ended
    instruments.took(ended - started, attributes)
    tokens = {"input": answer.input_tokens, "output": answer.output_tokens}
    instruments.used(tokens, attributes)


def _attributes(
    answer: TracedAnswer, instruments: Instruments, conversation_id: str | None, *, own_model: bool
) -> dict[str, Value]:
    attributes = instruments.operation(
        names.CHAT,
        instruments.request if own_model else {},
        {
            names.CONVERSATION: conversation_id,
            names.RESPONSE_MODEL: answer.model,
            names.RESPONSE_ID: answer.answer_id,
            names.INPUT_TOKENS: answer.input_tokens,
            names.OUTPUT_TOKENS: answer.output_tokens,
            names.CACHE_READ: answer.cache_read,
            names.CACHE_CREATION: answer.cache_creation,
            names.ERROR_TYPE: answer.error,
        },
    )
    if answer.parts:
        attributes |= instruments.content.messages(
            names.OUTPUT_MESSAGES,
            "assistant",
            answer.parts,
            finish_reason=answer.finish_reason,
        )
    return attributes
