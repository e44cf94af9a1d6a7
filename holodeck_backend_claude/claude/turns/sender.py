"""The context variables of whoever sent a message, for the tools that its turn calls."""

from __future__ import annotations

import contextvars
from typing import Final

_NOTHING: Final = object()


def context_for(sender: contextvars.Context, connected: contextvars.Context) -> contextvars.Context:
    """The context of a tool call: the running one, with the sender's variables.

    The SDK runs calls in the context in which the process was connected, which can have been
    anybody's. What was set since then, for this one call, is kept.

    Args:
        sender: The context in which the message was sent.
        connected: The context in which the process was connected.
    """
    context = contextvars.copy_context()
    for variable, value in sender.items():
        if context.get(variable, _NOTHING) is connected.get(variable, _NOTHING):
            context.run(variable.set, value)
    return context
