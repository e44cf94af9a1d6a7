"""The kernel of one turn: it runs the tool calls of the model and records them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic import PrivateAttr

from holodeck_backend_claude import outcomes
from holodeck_backend_claude.calls import failed_server
from holodeck_backend_claude.contract import PermissionRequest, ToolResult
from holodeck_backend_claude.encodable import encodable_data
from holodeck_backend_claude.failures import error_text
from holodeck_backend_claude.redaction import mask_secrets
from holodeck_backend_claude.sk._imports import (
    AutoFunctionInvocationContext,
    ChatHistory,
    FunctionCallContent,
    FunctionChoiceBehavior,
    Kernel,
    KernelArguments,
    KernelPlugin,
    PromptExecutionSettings,
)
from holodeck_backend_claude.sk.answers import CalledTool
from holodeck_backend_claude.sk.functions import PLUGIN, CallArguments, ToolFunction
from holodeck_backend_claude.sk.history import result_message
from holodeck_backend_claude.sk.turn import Turn

if TYPE_CHECKING:
    from holodeck_backend_claude.calls import BoundTool
    from holodeck_backend_claude.sk._imports import ChatCompletionClientBase


class TurnKernel(Kernel):
    """A kernel with the tools of the agent, for one turn.

    Semantic Kernel's own handling of a call repairs broken JSON by guessing, checks arguments by
    name only, takes ``a-b`` for the function ``b`` of a plugin ``a``, and leaves no trace of a call
    it refused. Here every call is recorded with its id and its outcome, and the arguments are
    the tool's to check.
    """

    _turn: Turn = PrivateAttr()

    def __init__(
        self, turn: Turn, *, service: ChatCompletionClientBase, plugin: KernelPlugin
    ) -> None:
        super().__init__(services=service, plugins=plugin)
        self._turn = turn

    async def invoke_function_call(  # noqa: PLR0913  # the signature is Semantic Kernel's
        self,
        function_call: FunctionCallContent,
        chat_history: ChatHistory,
        *,
        arguments: KernelArguments | None = None,
        execution_settings: PromptExecutionSettings | None = None,
        function_call_count: int | None = None,
        request_index: int | None = None,
        is_streaming: bool = False,
        function_behavior: FunctionChoiceBehavior | None = None,
    ) -> AutoFunctionInvocationContext | None:
        """Run one call of the model and put its result into the history."""
        del arguments, execution_settings, function_call_count, request_index, is_streaming
        del function_behavior
        await self._run(function_call, chat_history)
        return None

    async def _run(self, wanted: FunctionCallContent, history: ChatHistory) -> None:
        wire_name = wanted.name or ""
        function = self._function(wire_name)
        raw = _raw(wanted)
        arguments, problem = _arguments(raw)
        if "\\ud" in raw.lower() and not problem:
            raw = json.dumps(arguments)  # without the half characters it may spell out
        call = self._turn.call_begins(
            wanted.id,
            wire_name=wire_name,
            name=function.tool.name if function else wire_name,
            raw=raw,
            arguments=arguments,
        )
        wanted.id, wanted.arguments = call.call_id, raw
        if function is None:
            result, ends_run = _refused(self._unknown(wire_name)), None
        elif problem:
            result, ends_run = _refused(problem), None
        elif refusal := await self._refusal(function, call):
            self._turn.call_is_denied(call, refusal)
            result, ends_run = _refused(f"Denied: {refusal}."), None
        else:
            result = await self._invoke(function, call)
            ends_run = _reason(function.tool, result)
        self._turn.call_ends(call, result.text, is_error=result.is_error, ends_run=ends_run)
        history.add_message(result_message(call))

    def _function(self, wire_name: str) -> ToolFunction | None:
        function = self.plugins[PLUGIN].get(wire_name)
        return function if isinstance(function, ToolFunction) else None

    async def _refusal(self, function: ToolFunction, call: CalledTool) -> str | None:
        """Why a call of a destructive tool must not be made; the others are granted."""
        if function.tool.annotations.destructive is not True:
            return None
        try:
            return await self._turn.consent.why_not(
                PermissionRequest(call.name, call.arguments, "it is marked destructive"),
                has_side_effects=True,
                has_to_ask=True,
                pausing=self._turn.clock.paused,
            )
        except Exception as error:  # noqa: BLE001 - a question that fails is a no
            return f"it could not be decided: {mask_secrets(error_text(error))}"

    async def _invoke(self, function: ToolFunction, call: CalledTool) -> ToolResult:
        arguments = CallArguments(
            call.arguments, call_id=call.call_id, session_id=self._turn.session_id
        )
        running = self._turn.trace.running(call.name, call.arguments, call.call_id)
        async with running:
            returned = await function.invoke(self, arguments)
        if returned is None or not isinstance(returned.value, ToolResult):
            raise TypeError(f"the tool '{call.name}' came back without a result")
        return returned.value

    def _unknown(self, wire_name: str) -> str:
        names = ", ".join(self.plugins[PLUGIN].functions) or "none"
        return f"There is no tool '{wire_name}'. The tools are: {names}."


def _reason(tool: BoundTool, result: ToolResult) -> str | None:
    """Why this result of a call ends the run, where it does."""
    if not tool.ended_by(result):
        return None
    return outcomes.tool_failed(tool.name, server=failed_server(result))


def _refused(problem: str) -> ToolResult:
    return ToolResult.from_text(problem, is_error=True)


def _raw(wanted: FunctionCallContent) -> str:
    written = wanted.arguments
    text = written if isinstance(written, str) else json.dumps(dict(written or {}))
    return text.strip() or "{}"


def _arguments(raw: str) -> tuple[dict[str, Any], str]:
    """The arguments of a call, and what is wrong with them."""
    try:
        arguments = encodable_data(json.loads(raw))
    except (ValueError, RecursionError) as cause:
        return {}, (
            f"The arguments of this call are not valid JSON ({cause}), so the tool did not run. "
            "Call it again with a JSON object."
        )
    if not isinstance(arguments, dict):
        return {}, (
            f"The arguments of this call are a JSON {type(arguments).__name__}, so the tool did "
            "not run. Call it again with a JSON object."
        )
    return arguments, ""
