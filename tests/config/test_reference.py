"""docs/reference/agent-yaml.md names every key with the default and range it really has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import annotated_types
import pytest
from pydantic import BaseModel, TypeAdapter
from pydantic.fields import FieldInfo

from holodeck_backend_claude.claude.settings import (
    ClaudeSettings,
    ExtendedThinking,
    SessionSettings,
    SubagentConfig,
)
from holodeck_backend_claude.claude.settings.grants import BashGrant, FileSystemGrant
from holodeck_backend_claude.claude.settings.sandbox import SandboxNetwork, SandboxSettings
from holodeck_backend_claude.config import (
    Agent,
    DatabaseConfig,
    EmbeddingProviderConfig,
    ExecutionConfig,
    HierarchicalDocumentToolConfig,
    Instructions,
    KeywordIndexConfig,
    MCPTool,
    ModelConfig,
    ObservabilityConfig,
    PluginsConfig,
    RerankerConfig,
    ToolConfig,
    VectorstoreTool,
    read_agent,
)
from holodeck_backend_claude.config.observability import (
    ConsoleExporterConfig,
    ExportersConfig,
    LogsConfig,
    MetricsConfig,
    OTLPExporterConfig,
    TracesConfig,
)
from holodeck_backend_claude.config.root_keys import FILE_KEYS
from holodeck_backend_claude.config.upstream_keys import FOREIGN
from holodeck_backend_claude.plugins import load_plugins
from holodeck_backend_claude.sk.settings import SKSettings

PAGE = (Path(__file__).parents[2] / "docs/reference/agent-yaml.md").read_text()

SECTIONS: dict[str, type[BaseModel]] = {
    "The file": Agent,
    "`model`": ModelConfig,
    "`instructions`": Instructions,
    "`tools`": ToolConfig,
    "`type: vectorstore`": VectorstoreTool,
    "`type: hierarchical_document`": HierarchicalDocumentToolConfig,
    "`database`": DatabaseConfig,
    "`reranker_model`": RerankerConfig,
    "`keyword_index`": KeywordIndexConfig,
    "`type: mcp`": MCPTool,
    "`embedding_provider`": EmbeddingProviderConfig,
    "`execution`": ExecutionConfig,
    "`plugins`": PluginsConfig,
    "`observability`": ObservabilityConfig,
    "`observability.traces`": TracesConfig,
    "`observability.metrics`": MetricsConfig,
    "`observability.logs`": LogsConfig,
    "`observability.exporters`": ExportersConfig,
    "`observability.exporters.console`": ConsoleExporterConfig,
    "`observability.exporters.otlp`": OTLPExporterConfig,
    "`claude`": ClaudeSettings,
    "`claude.extended_thinking`": ExtendedThinking,
    "`claude.bash`": BashGrant,
    "`claude.file_system`": FileSystemGrant,
    "`claude.sandbox`": SandboxSettings,
    "`claude.sandbox.network`": SandboxNetwork,
    "`claude.agents.<name>`": SubagentConfig,
    "`claude.sessions`": SessionSettings,
    "`semantic_kernel`": SKSettings,
}
SUMMED_UP = {"see there", "off", "empty", "a line break"}


def fields(section: str) -> dict[str, FieldInfo]:
    model = SECTIONS[section]
    if model is Agent:
        return {name: Agent.model_fields[name] for name in FILE_KEYS}
    if not issubclass(model, ToolConfig) or model is ToolConfig:
        return dict(model.model_fields)
    own = model.__annotations__.keys() - {"type"}
    return {name: field for name, field in model.model_fields.items() if name in own}


def rows(section: str) -> dict[str, dict[str, str]]:
    text = re.split(rf"^#+ {re.escape(section)}$", PAGE, flags=re.MULTILINE)[1]
    table = re.split(r"^#", text, flags=re.MULTILINE)[0]
    lines = [line for line in table.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    head, _rule, *body = cells
    return {row[0].strip("`"): dict(zip(head, row, strict=True)) for row in body}


def bounds(annotation: Any, metadata: list[Any]) -> Iterator[float]:
    """Every limit on a number that a field has, also inside of unions."""
    for item in metadata:
        match item:
            case annotated_types.Ge(ge=limit) | annotated_types.Gt(gt=limit):
                yield float(limit)  # type: ignore[arg-type]
            case annotated_types.Le(le=limit) | annotated_types.Lt(lt=limit):
                yield float(limit)  # type: ignore[arg-type]
            case FieldInfo():
                yield from bounds(None, item.metadata)
    for argument in get_args(annotation):
        yield from bounds(argument, list(getattr(argument, "__metadata__", ())))


def as_shown(default: Any) -> str:
    match default:
        case None | ():
            return "none"
        case bool():
            return str(default).lower()
        case float():
            return f"{default:g}"
    return str(default)


CASES = [(section, name) for section in SECTIONS for name in fields(section)]
NUMBERS = [case for case in CASES if "number" in rows(case[0])[case[1]]["type"]]


@pytest.mark.parametrize("section", SECTIONS)
def test_each_table_has_the_keys_of_its_model_and_no_other(section: str) -> None:
    assert set(rows(section)) == set(fields(section))


@pytest.mark.parametrize(("section", "name"), CASES)
def test_the_default_is_the_one_of_the_model(section: str, name: str) -> None:
    shown = rows(section)[name]["default"].strip("`").replace(",", "")
    field = fields(section)[name]
    if field.is_required():
        assert shown == "required"
    elif shown not in SUMMED_UP:
        assert shown == as_shown(field.get_default(call_default_factory=True))


@pytest.mark.parametrize(("section", "name"), NUMBERS)
def test_every_limit_of_a_number_is_named(section: str, name: str) -> None:
    shown = rows(section)[name]["range"].replace(",", "")
    field = fields(section)[name]
    numbers = {float(number) for number in re.findall(r"\d+(?:\.\d+)?", shown)}
    assert set(bounds(field.annotation, field.metadata)) == numbers


@pytest.mark.parametrize(("section", "name"), CASES)
def test_every_choice_is_named(section: str, name: str) -> None:
    schema = TypeAdapter(fields(section)[name].annotation).json_schema()
    choices = [c for part in (schema, *schema.get("anyOf", ())) for c in part.get("enum", ())]
    for choice in choices:
        assert f"`{choice}`" in rows(section)[name]["range"]


def test_blocks_of_other_programs_are_named() -> None:
    assert all(f"`{key}`" in PAGE for key in FOREIGN)


def test_every_key_has_a_type_and_an_effect() -> None:
    for section in SECTIONS:
        for row in rows(section).values():
            assert row["type"]
            assert len(row["effect"]) > 10


def test_the_smallest_agent_is_valid(tmp_path: Path) -> None:
    block = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert block
    (tmp_path / "agent.yaml").write_text(block[1])
    assert read_agent(tmp_path, load_plugins().registry, environ={}).notices == ()
