"""The reading of one agent file: its source, variables, findings, and the blocks in it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from holodeck_backend_claude.config.dotenv import read_dotenv
from holodeck_backend_claude.config.environment import Variables, plain_data
from holodeck_backend_claude.config.model_fields import is_secret
from holodeck_backend_claude.config.paths import check_paths
from holodeck_backend_claude.config.problems import DataPath, Findings
from holodeck_backend_claude.config.pydantic_words import Wording, explain
from holodeck_backend_claude.config.yaml.nodes import Node
from holodeck_backend_claude.config.yaml.source import Source
from holodeck_backend_claude.redaction import mask_known_secrets

_SHORTEST_SECRET = 6  # shorter texts are left: masking them would garble the words around

M = TypeVar("M", bound=BaseModel)


@dataclass
class Reading:
    """What the steps of reading one agent file share.

    Attributes:
        source: The file.
        variables: What ``${VAR}`` may stand for.
        dotenv: The variables of the ``.env`` file beside it.
        findings: What there is to say.
        secrets: Texts that no message may hold.
    """

    source: Source
    variables: Variables
    dotenv: dict[str, str]
    findings: Findings
    secrets: set[str] = field(default_factory=set)

    @classmethod
    def begin(cls, source: Source, environ: Mapping[str, str] | None = None) -> Reading:
        """Begin to read a file, with the environment of the process unless one is given."""
        dotenv, told = read_dotenv(source.path.parent)
        findings = source.findings.copy()
        findings.errors += told.errors
        findings.notices += told.notices
        values = {**dotenv, **(os.environ if environ is None else environ)}
        has_file = (source.path.parent / ".env").is_file()
        origin = "the environment or the .env file" if has_file else "the environment"
        return cls(source, Variables(values, origin), dotenv, findings)

    @property
    def base_dir(self) -> Path:
        """Where relative paths start."""
        return self.source.base_dir

    def data(self, path: DataPath) -> Any:
        """The value at ``path`` as plain data, variables put in; None where there is none."""
        node = self.source.root.find(path)
        return None if node is None else plain_data(node, path, self.variables, self.findings)

    def node(self, path: DataPath) -> Node | None:
        """The value at ``path`` as the file has it."""
        return self.source.root.find(path)

    def error(
        self, path: DataPath, message: str, *, hint: str | None = None, at_key: bool = False
    ) -> None:
        """Report a problem with the value (or the key) at ``path``."""
        mark = self.source.root.place(path, key=at_key)
        self.findings.error(mark, path, self._masked(message), hint=self._masked(hint))

    def notice(self, path: DataPath, message: str, *, hint: str | None = None) -> None:
        """Report something to know about the key at ``path``."""
        mark = self.source.root.place(path, key=True)
        self.findings.notice(mark, path, self._masked(message), hint=self._masked(hint))

    def validate(
        self, model: type[M], path: DataPath, data: Any, *, origin: str | None = None
    ) -> M | None:
        """Validate ``data``, which stands at ``path``; None and errors where it is wrong.

        Args:
            model: What it has to be.
            path: Where it stands.
            data: The plain data.
            origin: The plugin that brought ``model``, for failures of its own code.
        """
        try:
            return model.model_validate(data)
        except ValidationError as cause:
            self.secrets |= secret_texts(data, model)
            self._explain(cause, model, path)
        except Exception as cause:  # noqa: BLE001 - a plugin's validator may raise anything
            self.secrets |= secret_texts(data, model)
            self.error(
                path,
                f"{model.__name__} could not check this: {type(cause).__name__}: {cause}",
                hint=f"this is a fault of {origin}" if origin else None,
                at_key=True,
            )
        return None

    def check_paths(self, model: type[BaseModel], path: DataPath, data: Any) -> None:
        """Report the paths in ``data``, which stands at ``path``, that are wrong or lead out."""
        for found in check_paths(model, data, self.base_dir):
            here = (*path, *found.path)
            if found.is_error:
                self.error(here, found.message, hint=found.hint)
            else:
                self.notice(here, found.message, hint=found.hint)

    def _explain(self, cause: ValidationError, model: type[BaseModel], path: DataPath) -> None:
        node = self.node(path)
        if node is None:
            return
        told: dict[tuple[DataPath, bool], list[Wording]] = {}
        for error in cause.errors(include_url=False, include_input=False):
            wording = explain(error, model, node, path)
            told.setdefault((wording.path, wording.at_key), []).append(wording)
        for (below, at_key), wordings in told.items():
            message = "; or ".join(dict.fromkeys(wording.message for wording in wordings))
            missing = at_key and node.find(below) is None
            self.error((*path, *below), message, hint=wordings[0].hint, at_key=at_key or missing)

    def _masked(self, text: str | None) -> Any:
        """The text with variables as the file has them, and without secrets of the file."""
        if not text:
            return text
        for value, name in sorted(self.variables.used.items(), key=lambda item: -len(item[0])):
            if len(value) >= _SHORTEST_SECRET:
                text = text.replace(value, f"${{{name}}}")
        return mask_known_secrets(text, also=self.secrets)


def secret_texts(data: Any, model: type[BaseModel] | None, path: DataPath = ()) -> set[str]:
    """The texts in ``data`` that are secret by their type in ``model`` or by their key."""
    if isinstance(data, str):
        return {data} if len(data) >= _SHORTEST_SECRET and is_secret(model, path) else set()
    steps = (
        data.items()
        if isinstance(data, dict)
        else enumerate(data)
        if isinstance(data, list)
        else ()
    )
    return {text for step, below in steps for text in secret_texts(below, model, (*path, step))}
