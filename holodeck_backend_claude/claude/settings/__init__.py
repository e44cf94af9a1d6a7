"""``claude:`` in agent.yaml: what only the Claude backend understands."""

from holodeck_backend_claude.claude.settings.agents import SubagentConfig
from holodeck_backend_claude.claude.settings.block import ClaudeSettings, settings_of
from holodeck_backend_claude.claude.settings.model import ExtendedThinking
from holodeck_backend_claude.claude.settings.sessions import SessionSettings

__all__ = ["ClaudeSettings", "ExtendedThinking", "SessionSettings", "SubagentConfig", "settings_of"]
