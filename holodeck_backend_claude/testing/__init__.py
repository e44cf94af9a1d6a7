"""Scripted model servers on loopback, for tests of agents, backends and plugins."""

from __future__ import annotations

from holodeck_backend_claude.testing.messages_api import ScriptedMessagesAPI
from holodeck_backend_claude.testing.request import (
    ModelRequest,
    RequestedCall,
    RequestedResult,
    RequestMessage,
    RequestTool,
)
from holodeck_backend_claude.testing.script import (
    Answer,
    Failure,
    Reply,
    Script,
    Usage,
    call_tool,
    cut,
    delay,
    fail,
    forever,
    hang,
    hold,
    reply,
    say,
)

__all__ = [
    "Answer",
    "Failure",
    "ModelRequest",
    "Reply",
    "RequestMessage",
    "RequestTool",
    "RequestedCall",
    "RequestedResult",
    "Script",
    "ScriptedMessagesAPI",
    "Usage",
    "call_tool",
    "cut",
    "delay",
    "fail",
    "forever",
    "hang",
    "hold",
    "reply",
    "say",
]
