"""A registry with one backend, the vectorstore tool type and a made-up one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from holodeck_backend_claude.config import AgentFileError, ExistingPath, Problem, ToolConfig
from holodeck_backend_claude.config.loader import AgentFile, read_agent
from holodeck_backend_claude.hookspecs import BackendType, ToolType
from holodeck_backend_claude.registry import Absent, Origin, Provided, Registry


class Login(BaseModel):
    model_config = ConfigDict(extra="forbid")

    user: str
    code: SecretStr | None = None


class ParrotTool(ToolConfig):
    """A tool type as a plugin would bring it."""

    type: Literal["parrot"] = "parrot"
    colour: Literal["green", "red"] = "green"
    words: list[str] = Field(default_factory=list, max_length=3)
    login: Login | None = None
    logins: dict[str, Login] = Field(default_factory=dict)
    feathers: int | str = 1
    song: Annotated[str, ExistingPath("file")] | None = None

    @field_validator("words")
    @classmethod
    def _no_cats(cls, value: list[str]) -> list[str]:
        if "cat" in value:
            raise ValueError("a parrot does not say 'cat'")
        if "crash" in value:
            raise RuntimeError("out of seeds")
        return value


class EchoSettings(BaseModel):
    model_config = ConfigDict(extra="forbid")

    volume: int = Field(default=1, ge=0, le=11)
    token: SecretStr | None = None


def never(*_: Any) -> Any:
    raise AssertionError("reading a file runs nothing of a plugin")


@pytest.fixture
def registry() -> Registry:
    own = Origin("parrot", "parrot-tools", "1.2")
    return Registry(
        backends={
            "echo": Provided(BackendType("echo", ("acme",), never, "echo", EchoSettings), own),
            "other": Provided(BackendType("other", ("zeta",), never), own),
        },
        tool_types={
            "vectorstore": Provided(
                ToolType("vectorstore", "holodeck_backend_claude.config:VectorstoreTool", never),
                own,
            ),
            "parrot": Provided(ToolType("parrot", ParrotTool, never), own),
            "broken": Provided(ToolType("broken", "no.such.module:Config", never), own),
        },
        absent=(
            Absent(
                Origin("acme", "acme-plugin", "3.0"),
                "blocked",
                "blocked by agent.yaml",
                frozenset({("tool", "rocket"), ("provider", "nasa"), ("settings", "nasa")}),
            ),
        ),
    )


GOOD = """\
name: helper
model:
  provider: acme
  name: large
instructions: Be kind.
"""


class Workbench:
    """Writes agent files into a folder and reads them."""

    def __init__(self, folder: Path, registry: Registry) -> None:
        self.folder = folder
        self.registry = registry

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def read(self, text: str, **environ: str) -> AgentFile:
        return read_agent(self.write("agent.yaml", text), self.registry, environ=environ)

    def problems(self, text: str, **environ: str) -> tuple[Problem, ...]:
        with pytest.raises(AgentFileError) as caught:
            self.read(text, **environ)
        return caught.value.problems

    def problem(self, text: str, **environ: str) -> Problem:
        (problem,) = self.problems(text, **environ)
        return problem


@pytest.fixture
def bench(tmp_path: Path, registry: Registry) -> Workbench:
    return Workbench(tmp_path, registry)


@pytest.fixture
def good() -> str:
    return GOOD


@pytest.fixture
def tools() -> Callable[[str], str]:
    """An agent file with these lines under ``tools:``, the first of them in line 7."""
    return lambda lines: f"{GOOD}tools:\n{lines}"
