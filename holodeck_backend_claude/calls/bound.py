"""A tool adapter with the one call policy around it; every backend calls tools through this."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

from holodeck_backend_claude.calls.arguments import ArgumentsRefusedError, prepare_arguments
from holodeck_backend_claude.calls.capping import cap_result
from holodeck_backend_claude.calls.content import to_result
from holodeck_backend_claude.calls.invoking import invoke
from holodeck_backend_claude.calls.policy import CallPolicy, Raised, run_call
from holodeck_backend_claude.calls.progress import ProgressRelay, ReportProgress
from holodeck_backend_claude.calls.refusals import text_of
from holodeck_backend_claude.calls.schema import check_schema
from holodeck_backend_claude.calls.slots import Slots
from holodeck_backend_claude.contract import (
    ImageContent,
    JsonSchema,
    PluginError,
    TextContent,
    ToolAdapter,
    ToolAnnotations,
    ToolCall,
    ToolResult,
    ToolServerError,
)
from holodeck_backend_claude.redaction import mask_beginning


@dataclass(frozen=True)
class RefusedArguments(ToolResult):
    """The result of a call that was not made because its arguments do not fit the schema."""


@dataclass(frozen=True)
class ServerFailed(ToolResult):
    """The result of a call that failed because the server behind the tool is gone.

    Attributes:
        server: Its name in agent.yaml.
    """

    server: str = ""


@dataclass(frozen=True, eq=False)
class BoundTool:
    """A tool as backends use it.

    Attributes:
        adapter: The adapter behind it.
        name: What results and reports call the tool.
        description: What the model reads.
        schema: The checked input schema.
        annotations: Hints for the backend and for permissions.
        origin: Where the tool comes from, e.g. ``tool 'kb' (vectorstore)``.
        policy: The limits of its calls.
        config: The tool's config, or None.
    """

    adapter: ToolAdapter
    name: str
    description: str
    schema: JsonSchema
    annotations: ToolAnnotations
    origin: str
    policy: CallPolicy
    config: Any = None
    _slots: Slots = field(init=False, repr=False)

    def __post_init__(self) -> None:
        slots = Slots(self.policy.concurrency, label=self._label)
        object.__setattr__(self, "_slots", slots)

    @property
    def timeout(self) -> float:
        """Seconds one call may take."""
        return self.policy.timeout

    @property
    def ends_run(self) -> bool:
        """Whether a failed call ends the agent's turn; :meth:`ended_by` decides for a result."""
        return self.policy.ends_run

    @property
    def _label(self) -> str:
        return f"tool '{self.name}'"

    def ended_by(self, result: ToolResult) -> bool:
        """Whether this result of a call ends the agent's turn.

        Arguments that were refused do not: the model can send better ones.
        """
        return self.ends_run and result.is_error and not isinstance(result, RefusedArguments)

    async def call(
        self,
        arguments: object,
        *,
        call_id: str | None = None,
        session_id: str | None = None,
        report_progress: ReportProgress | None = None,
    ) -> ToolResult:
        """Call the tool; whatever goes wrong is an error result with a text.

        Only a cancellation from outside is raised, after it has reached the work.

        Args:
            arguments: What the model sent; coerced and validated here.
            call_id: The model's id of the call.
            session_id: The conversation's id.
            report_progress: Gets the tool's progress, always on the event loop's thread.
        """
        try:
            result = await self._call(arguments, ToolCall({}, call_id, session_id), report_progress)
        except ArgumentsRefusedError as refusal:
            result = RefusedArguments(content=(TextContent(text_of(refusal)),), is_error=True)
        except Exception as error:  # noqa: BLE001 - a call has a result, whatever went wrong
            result = ToolResult.from_text(text_of(error), is_error=True)
        return cap_result(result, self.policy.max_result_chars)

    async def _call(
        self, given: object, call: ToolCall, report_progress: ReportProgress | None
    ) -> ToolResult:
        arguments = prepare_arguments(given, self.schema, label=self._label)
        progress = ProgressRelay(report_progress)

        async def work() -> ToolResult:
            deadline = time.monotonic() + self.timeout
            ready = replace(
                call, arguments=arguments, deadline=deadline, report_progress=progress.report
            )
            return to_result(await invoke(self.adapter, ready))

        try:
            outcome = await run_call(
                work, label=self._label, seconds=self.timeout, slots=self._slots
            )
        finally:
            progress.end()
        if isinstance(outcome, Raised):
            if isinstance(outcome.error, ToolServerError):
                text = TextContent(text_of(outcome.error))
                return ServerFailed((text,), is_error=True, server=outcome.error.server)
            return ToolResult.from_text(text_of(outcome.error), is_error=True)
        result: ToolResult = outcome.value
        if not result.is_error:
            return result
        masked, left_out = _masked(result, self.policy.max_result_chars)
        return cap_result(masked, self.policy.max_result_chars, left_out=left_out)


def failed_server(result: ToolResult) -> str | None:
    """The server whose failure a result tells of, if it does."""
    return result.server if isinstance(result, ServerFailed) else None


def bind(adapter: ToolAdapter, config: Any = None, *, origin: str | None = None) -> BoundTool:
    """Put the call policy around an adapter.

    Args:
        adapter: The tool; its name, description, schema and annotations are read once, now. A
            ``call`` that is no coroutine function runs in a thread, unless the adapter has an
            attribute ``in_thread`` that is False.
        config: The tool's config, which may say ``timeout``, ``max_result_chars``,
            ``concurrency`` and ``on_error``; without it the adapter's own ``config``.
        origin: Where the tool comes from, as error messages name it.

    Raises:
        PluginError: The adapter is not one, or its schema cannot be sent to a model.
    """
    config = config if config is not None else getattr(adapter, "config", None)
    origin = origin or origin_of(config) or f"adapter {type(adapter).__qualname__}"
    name = _text(adapter, "name", origin)
    if not callable(getattr(adapter, "call", None)):
        raise PluginError(f"{origin}: its adapter has no method 'call'; add 'async def call'")
    return BoundTool(
        adapter=adapter,
        name=name,
        description=_text(adapter, "description", origin),
        schema=check_schema(getattr(adapter, "input_schema", None), tool=f"{origin}, '{name}'"),
        annotations=_annotations(adapter, origin),
        origin=origin,
        policy=CallPolicy.of(config),
        config=config,
    )


def origin_of(config: Any) -> str | None:
    """``tool 'kb' (vectorstore)`` for the config of such a tool."""
    name = getattr(config, "name", None)
    return f"tool '{name}' ({getattr(config, 'type', 'no type')})" if name else None


def _text(adapter: object, attribute: str, origin: str) -> str:
    value = getattr(adapter, attribute, None)
    if not isinstance(value, str) or not value.strip():
        raise PluginError(
            f"{origin}: its adapter {type(adapter).__qualname__} needs a '{attribute}' that is a "
            f"text, not {value!r:.80}"
        )
    return value


def _annotations(adapter: object, origin: str) -> ToolAnnotations:
    value = getattr(adapter, "annotations", None)
    if value is None:
        return ToolAnnotations()
    if not isinstance(value, ToolAnnotations):
        raise PluginError(
            f"{origin}: 'annotations' of its adapter must be ToolAnnotations, not {value!r:.80}"
        )
    return value


def _masked(result: ToolResult, limit: int) -> tuple[ToolResult, int]:
    """An error result without secrets, and how much of it was left out; a long one takes long.

    Its structured data may hold the same secrets.
    """
    content = tuple(
        block
        if isinstance(block, ImageContent)
        else replace(block, text=mask_beginning(block.text, limit))
        for block in result.content
    )
    left_out = sum(
        max(0, len(block.text) - limit)
        for block in result.content
        if not isinstance(block, ImageContent)
    )
    return replace(result, content=content, structured=None), left_out
