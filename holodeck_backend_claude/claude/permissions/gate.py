"""The hook that Claude Code calls before each tool call of one session, and what it denied."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from holodeck_backend_claude.claude._compat import blocking_hook
from holodeck_backend_claude.claude.permissions.decision import Decision
from holodeck_backend_claude.claude.permissions.paths import PRIVATE
from holodeck_backend_claude.claude.permissions.wording import PRIVATE_TEXT
from holodeck_backend_claude.failures import error_text
from holodeck_backend_claude.redaction import mask_secrets, traceback_of

if TYPE_CHECKING:
    from claude_agent_sdk import HookMatcher
    from claude_agent_sdk.types import HookEvent

    from holodeck_backend_claude.claude.permissions.decision import Permissions
    from holodeck_backend_claude.contract import ExecutionResult

log = logging.getLogger(__name__)

# A human may think as long as she likes; the longest time that Claude Code can wait is 24.8 days.
HOOK_SECONDS = 2_000_000.0
_TAG = re.compile(r"</?tool_use_error>")
_STOPPED = "the turn was stopped"


class Gate:
    """Decides on the calls of one session.

    Args:
        permissions: How it is decided.
        pausing: Stops the clock of the running turn while somebody is asked.
    """

    def __init__(
        self,
        permissions: Permissions,
        pausing: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self.pausing = pausing
        self._permissions = permissions
        self._denied: list[dict[str, Any]] = []
        self._deciding: set[asyncio.Task[Decision]] = set()

    def hooks(self) -> dict[HookEvent, list[HookMatcher]]:
        """The SDK's ``hooks``; none where there is nothing to decide on."""
        if not self._permissions.are_needed:
            return {}
        return {"PreToolUse": [blocking_hook(self._before_call, seconds=HOOK_SECONDS)]}

    def allowed_tools(self) -> tuple[str, ...]:
        """The wire names of the agent's tools that run without a decision."""
        return self._permissions.undecided

    def cancel(self) -> None:
        """Deny what is being decided on: the turn has ended."""
        for task in tuple(self._deciding):
            task.cancel()

    def take_denials(self, result: ExecutionResult) -> list[dict[str, Any]]:
        """The denials of a turn that has ended, each with its reason.

        Args:
            result: The turn's, with what Claude Code tells of denials: not of all of them, but of
                its own too.
        """
        denied, self._denied = self._denied, []
        texts = {each["call_id"]: each["result"] for each in result.tool_results}
        by_rule = [
            {key: call[key] for key in ("name", "arguments", "call_id")}
            for call in result.tool_calls
            if texts.get(call["call_id"]) == PRIVATE_TEXT
        ]
        known = {denial["call_id"] for denial in denied}
        for denial in (*result.permission_denials, *by_rule):
            if denial["call_id"] not in known:
                known.add(denial["call_id"])
                text = texts.get(denial["call_id"], "Claude Code denied it")
                reason = PRIVATE if text == PRIVATE_TEXT else _TAG.sub("", text)
                denied.append({**denial, "reason": reason})
        return denied

    async def _before_call(
        self, call: Any, call_id: str | None, _context: object
    ) -> dict[str, Any]:
        """Answer Claude Code; whatever goes wrong here is a denial.

        A hook that raises, or is late, would let Claude Code decide for itself.
        """
        name, arguments = str(call.get("tool_name")), call.get("tool_input") or {}
        try:
            decision = await self._decide(name, arguments, call.get("cwd"))
        except Exception as error:  # noqa: BLE001 - it is said, and denies
            log.debug("the decision on %s failed: %s", name, traceback_of(error))
            decision = Decision(f"it could not be decided: {mask_secrets(error_text(error))}")
        if decision.refusal is not None:
            self._denied.append(
                {
                    "name": self._permissions.name(name),
                    "arguments": arguments,
                    "call_id": call_id or call.get("tool_use_id"),
                    "reason": decision.refusal,
                }
            )
        return _answer(decision)

    async def _decide(self, name: str, arguments: dict[str, Any], cwd: str | None) -> Decision:
        task = asyncio.create_task(
            self._permissions.decide(name, arguments, cwd=cwd, pausing=self.pausing),
            name="deciding on a call",
        )
        self._deciding.add(task)
        task.add_done_callback(self._deciding.discard)
        try:
            return await task
        except asyncio.CancelledError:
            this = asyncio.current_task()
            if this is not None and this.cancelling():
                raise  # it was the SDK that gave the call up
            return Decision(_STOPPED)


def _answer(decision: Decision) -> dict[str, Any]:
    answer: dict[str, Any] = {"hookEventName": "PreToolUse"}
    if decision.refusal is not None:
        answer |= {
            "permissionDecision": "deny",
            "permissionDecisionReason": f"Denied: {decision.refusal}.",
        }
    else:
        answer["permissionDecision"] = "allow"
        if decision.arguments is not None:
            answer["updatedInput"] = dict(decision.arguments)
    return {"hookSpecificOutput": answer}
