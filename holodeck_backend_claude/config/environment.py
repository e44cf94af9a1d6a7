"""``${VAR}`` and ``${VAR:-default}`` in the texts of an agent file.

Values are put in after the file was parsed, so that no value can bring keys or lists of its own.
``$${VAR}`` stands for the text ``${VAR}``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from holodeck_backend_claude.config.problems import DataPath, Findings
from holodeck_backend_claude.config.yaml.nodes import Node

_REFERENCE = re.compile(
    r"(?P<escaped>\$)?\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"(?:\}|:-(?P<default>[^{}]*)\}|(?P<rest>[:?+=\-][^}]*\}?))"
)
_FORMS = "write ${NAME}, ${NAME:-default}, or $${NAME} for the text itself"


@dataclass
class Variables:
    """The variables an agent file may use, and which of their values it took.

    Attributes:
        values: The environment, over the ``.env`` file beside the agent file.
        origin: Where they come from, for messages.
        used: The values that were put in, with their names; they may be secret.
    """

    values: Mapping[str, str]
    origin: str = "the environment"
    used: dict[str, str] = field(default_factory=dict)


def plain_data(node: Node, path: DataPath, variables: Variables, findings: Findings) -> Any:
    """The node as plain data, with the variables put in.

    Args:
        node: The value to convert.
        path: Where it stands, for messages.
        variables: What may be put in.
        findings: Told of each variable that is not set.
    """
    match node.value:
        case dict() as mapping:
            return {
                key: plain_data(child, (*path, key), variables, findings)
                for key, child in mapping.items()
            }
        case list() as items:
            return [
                plain_data(child, (*path, index), variables, findings)
                for index, child in enumerate(items)
            ]
        case str() as text if "${" in text:
            return _filled(node, text, path, variables, findings)
        case scalar:
            return scalar


def _filled(node: Node, text: str, path: DataPath, variables: Variables, findings: Findings) -> str:
    unset: list[str] = []

    def value_of(match: re.Match[str]) -> str:
        name, default = match["name"], match["default"]
        if match["escaped"]:
            return match[0][1:]
        if match["rest"] is not None:
            message = f"the reference to the variable {name} is in a form that is not understood"
            findings.error(node.mark, path, message, hint=_FORMS)
            return match[0]
        value = variables.values.get(name)
        if default is not None and not value:
            return default
        if value is None:
            unset.append(name)
            return match[0]
        variables.used[value] = name
        return value

    filled = _REFERENCE.sub(value_of, text)
    if unset:
        names = ", ".join(dict.fromkeys(unset))
        findings.error(
            node.mark,
            path,
            f"not set in {variables.origin}: {names}",
            hint=f"set it, or give a default: ${{{unset[0]}:-default}}",
        )
    return filled
