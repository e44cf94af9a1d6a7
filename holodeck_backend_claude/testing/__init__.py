"""Scripted model servers on loopback, for tests of agents, backends and plugins."""

from __future__ import annotations

from holodeck_backend_claude.testing.answers import Answer, Failure, Reply, Usage
from holodeck_backend_claude.testing.embeddings import EmbeddingRequest, hashed_words
from holodeck_backend_claude.testing.messages_api import ScriptedMessagesAPI
from holodeck_backend_claude.testing.offline import offline_model
from holodeck_backend_claude.testing.openai_api import ScriptedOpenAIAPI
from holodeck_backend_claude.testing.request import (
    ModelRequest,
    RequestedCall,
    RequestedResult,
    RequestMessage,
    RequestTool,
)
from holodeck_backend_claude.testing.script import (
    Script,
    call_tool,
    cut,
    delay,
    fail,
    forever,
    hang,
    hold,
    raw,
    reply,
    reset,
    say,
)

__all__ = [
    "Answer",
    "EmbeddingRequest",
    "Failure",
    "ModelRequest",
    "Reply",
    "RequestMessage",
    "RequestTool",
    "RequestedCall",
    "RequestedResult",
    "Script",
    "ScriptedMessagesAPI",
    "ScriptedOpenAIAPI",
    "Usage",
    "call_tool",
    "cut",
    "delay",
    "fail",
    "forever",
    "hang",
    "hashed_words",
    "hold",
    "offline_model",
    "raw",
    "reply",
    "reset",
    "say",
]
