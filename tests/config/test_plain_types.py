"""True and false are no numbers, and nothing else is true or false: in every block of the file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import pytest
from pydantic import BaseModel, ValidationError

from holodeck_backend_claude.claude.settings import ClaudeSettings
from holodeck_backend_claude.config import (
    Agent,
    FunctionTool,
    HierarchicalDocumentToolConfig,
    MCPTool,
    PromptTool,
    VectorstoreTool,
)
from holodeck_backend_claude.sk.settings import SKSettings

TOOLS = (VectorstoreTool, MCPTool, FunctionTool, PromptTool, HierarchicalDocumentToolConfig)


def parts(annotation: Any) -> Iterator[Any]:
    yield annotation
    for argument in get_args(annotation):
        yield from parts(argument)


def with_those_below(model: type[BaseModel], seen: set[type[BaseModel]]) -> set[type[BaseModel]]:
    if model not in seen:
        seen.add(model)
        for field in model.model_fields.values():
            for part in parts(field.annotation):
                if isinstance(part, type) and issubclass(part, BaseModel):
                    with_those_below(part, seen)
    return seen


def fields_of(*kinds: type) -> list[Any]:
    seen: set[type[BaseModel]] = set()
    for root in (Agent, ClaudeSettings, SKSettings, *TOOLS):
        with_those_below(root, seen)
    return [
        pytest.param(model, name, id=f"{model.__name__}.{name}")
        for model in sorted(seen, key=lambda each: each.__name__)
        for name, field in model.model_fields.items()
        if not {*kinds}.isdisjoint(parts(field.annotation))
    ]


def faults(model: type[BaseModel], name: str, value: object) -> list[str]:
    try:
        model.model_validate({name: value})
    except ValidationError as error:
        return [each["type"] for each in error.errors() if each["loc"] == (name,)]
    return []


def test_all_blocks_are_looked_at() -> None:
    named = {param.id.split(".")[0] for param in fields_of(bool, int, float)}
    assert {"ClaudeSettings", "SKSettings", "ModelConfig", "MCPTool", "SandboxSettings"} <= named
    assert len(fields_of(bool)) > 30
    assert len(fields_of(int, float)) > 30


@pytest.mark.parametrize(("model", "name"), fields_of(bool))
def test_only_true_and_false_are_true_or_false(model: type[BaseModel], name: str) -> None:
    for wrong in (1, 0, 1.0, "yes", "on", "1", "True"):
        assert faults(model, name, wrong) == ["bool_type"], wrong
    for right in (True, False, "true", "false"):
        assert "bool_type" not in faults(model, name, right)


@pytest.mark.parametrize(("model", "name"), fields_of(int, float))
def test_true_and_false_are_no_numbers(model: type[BaseModel], name: str) -> None:
    for wrong in (True, False):
        assert faults(model, name, wrong) in (["int_type"], ["float_type"])
