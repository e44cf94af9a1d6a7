"""Calling an adapter, whether its ``call`` is a coroutine function or an ordinary one."""

from __future__ import annotations

import functools
import inspect
from typing import Any

from holodeck_backend_claude.concurrency.threads import in_thread
from holodeck_backend_claude.contract import ToolAdapter, ToolCall


async def invoke(adapter: ToolAdapter, call: ToolCall) -> object:
    """Call the adapter; a sync ``call`` runs in a thread unless ``in_thread = False`` is on it."""
    method: Any = adapter.call
    if _is_async(method) or getattr(adapter, "in_thread", True) is False:
        value = method(call)
    else:
        value = await in_thread(method, call)
    while inspect.isawaitable(value):  # also a coroutine that a coroutine forgot to await
        value = await value
    return value


def _is_async(method: Any) -> bool:
    while isinstance(method, functools.partial):
        method = method.func
    return inspect.iscoroutinefunction(method) or inspect.iscoroutinefunction(
        getattr(method, "__call__", None)  # noqa: B004 - the function itself is asked for
    )
