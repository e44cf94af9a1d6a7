"""The models themselves: what code asks a validated agent for."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from holodeck_backend_claude.config import Agent, FunctionTool, MCPTool, ToolUnion
from holodeck_backend_claude.contract import ConfigError


class EchoSettings(BaseModel):
    volume: int = 1


class StrictSettings(BaseModel):
    volume: int
    place: str


def agent(**settings: BaseModel) -> Agent:
    return Agent(
        name="helper",
        model={"provider": "acme", "name": "m"},
        instructions="Be kind.",
        settings=settings,
    )


class TestSettingsOfABackend:
    def test_are_the_block_of_the_agent(self) -> None:
        assert agent(echo=EchoSettings(volume=3)).settings_for("echo", EchoSettings).volume == 3

    def test_are_the_defaults_where_there_is_no_block(self) -> None:
        assert agent().settings_for("echo", EchoSettings) == EchoSettings()

    def test_without_defaults_need_a_block(self) -> None:
        with pytest.raises(ConfigError, match=r"'helper' has no block 'echo'.*volume, place"):
            agent().settings_for("echo", StrictSettings)

    def test_of_another_model_are_refused(self) -> None:
        with pytest.raises(ConfigError, match=r"'echo'.*a EchoSettings, not a StrictSettings"):
            agent(echo=EchoSettings()).settings_for("echo", StrictSettings)


class TestToolUnion:
    TOOLS: TypeAdapter[Any] = TypeAdapter(ToolUnion)

    def test_is_told_apart_by_type(self) -> None:
        common = {"name": "x", "description": "d"}
        function = {**common, "type": "function", "file": "f.py", "function": "f"}
        assert isinstance(self.TOOLS.validate_python(function), FunctionTool)
        server = {**common, "type": "mcp", "command": "server"}
        assert isinstance(self.TOOLS.validate_python(server), MCPTool)

    def test_needs_a_type_and_says_only_what_is_wrong_with_a_tool_of_it(self) -> None:
        with pytest.raises(ValidationError, match="discriminator 'type'"):
            self.TOOLS.validate_python({"name": "x", "description": "d"})
        with pytest.raises(ValidationError) as raised:
            self.TOOLS.validate_python({"type": "mcp", "name": "x"})
        assert [error["loc"] for error in raised.value.errors()] == [("mcp", "description")]
