"""``response_format:`` in an agent file: a JSON Schema, or the file that holds one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from holodeck_backend_claude.answer_schema import ResponseFormatError, check_schema
from holodeck_backend_claude.config.base import NonBlank
from holodeck_backend_claude.config.paths import ExistingPath
from holodeck_backend_claude.config.problems import AgentFileError
from holodeck_backend_claude.config.yaml.source import read_source
from holodeck_backend_claude.contract import ConfigError, JsonSchema

if TYPE_CHECKING:
    from holodeck_backend_claude.config.agent_reader import Reading

KEY = "response_format"
_YAML = (".yaml", ".yml")

ResponseFormat: TypeAlias = dict[str, Any] | Annotated[NonBlank, ExistingPath("text", inside=True)]
"""The schema itself, or a ``.json`` or ``.yaml`` file with it, in the folder of agent.yaml."""


def response_schema(given: dict[str, Any] | str | None, base_dir: Path) -> JsonSchema | None:
    """The checked schema of a response format, read from its file where it names one.

    Raises:
        ConfigError: The file cannot be read, or the schema is wrong.
    """
    if given is None:
        return None
    if not isinstance(given, str):
        return check_schema(given)
    try:
        return check_schema(_read(base_dir / given))
    except ResponseFormatError as error:
        raise ConfigError(f"{given}: {error}") from error


def check_response_format(reading: Reading) -> None:
    """Report a response format that no model can be asked for, at its place in the file."""
    given = reading.data((KEY,))
    if isinstance(given, str) and not (reading.base_dir / given.strip()).is_file():
        return  # the path itself is reported where all paths are
    try:
        if isinstance(given, str):
            response_schema(given.strip(), reading.base_dir)
        elif isinstance(given, dict):
            check_schema(given)
    except ResponseFormatError as error:
        reading.error((KEY, *error.path), error.problem)
    except ConfigError as error:
        reading.error((KEY,), str(error))


def _read(path: Path) -> object:
    """What a schema file holds.

    Raises:
        ConfigError: It is neither JSON nor YAML.
    """
    suffix = path.suffix.lower()
    if suffix in _YAML:
        return _plain_yaml(path)
    if suffix != ".json":
        raise ConfigError(f"{path.name}: a response format is a .json or a .yaml file")
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as cause:
        raise ConfigError(f"{path.name} is not JSON: {cause}") from cause


def _plain_yaml(path: Path) -> object:
    try:
        source = read_source(path)
        source.findings.raise_errors()
    except AgentFileError as error:
        raise ConfigError(f"{path.name}: {error.problems[0]}") from error
    return source.root.plain()
