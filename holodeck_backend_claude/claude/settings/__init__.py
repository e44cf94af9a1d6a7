"""``claude:`` in agent.yaml: what only the Claude backend understands."""

from holodeck_backend_claude.claude.settings.block import ClaudeSettings, ExtendedThinking

__all__ = ["ClaudeSettings", "ExtendedThinking"]
