"""``claude.env:`` in agent.yaml: further variables of the Claude Code process, by name."""

from __future__ import annotations

import re
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, SecretStr

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_FOLDERS = "the process has private folders, so that nothing of this machine gets in"
_PROGRAMS = "it can make a program load or run code that nobody granted"
_OTHER_KEYS = "agent.yaml has keys of its own for what Claude Code does"
_PROVIDER = (
    "say it with model.endpoint, model.api_key, model.auth_provider and the provider's own "
    "variables in the environment"
)

_REFUSED = {
    **dict.fromkeys(("HOME", "TMPDIR", "PWD", "OLDPWD", "XDG_CONFIG_HOME"), _FOLDERS),
    **dict.fromkeys(
        ("NODE_OPTIONS", "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PROMPT_COMMAND", "IFS"),
        _PROGRAMS,
    ),
    "NODE_TLS_REJECT_UNAUTHORIZED": "name the certificate with NODE_EXTRA_CA_CERTS instead",
}
_REFUSED_BEGINNINGS = {
    "LD_": _PROGRAMS,
    "DYLD_": _PROGRAMS,
    "BUN_": _PROGRAMS,
    "BASH_FUNC_": _PROGRAMS,
    "CLAUDE": _OTHER_KEYS,
    "ANTHROPIC_": _PROVIDER,
    "OTEL_": "say it in observability",
}
_ALLOWED = frozenset({"ANTHROPIC_CUSTOM_HEADERS"})  # what a gateway asks for beside the credential


def _check_name(name: str) -> str:
    if _NAME.fullmatch(name) is None:
        raise ValueError("a variable is named by letters, digits and _, and begins with no digit")
    if name in _ALLOWED:
        return name
    beginnings = (why for start, why in _REFUSED_BEGINNINGS.items() if name.startswith(start))
    why = _REFUSED.get(name) or next(beginnings, None)
    if why is not None:
        raise ValueError(f"{name} cannot be set here: {why}")
    return name


def _check_value(value: SecretStr) -> SecretStr:
    if "\0" in value.get_secret_value():
        raise ValueError("a variable cannot hold a zero byte")
    return value


Variables: TypeAlias = dict[
    Annotated[str, AfterValidator(_check_name)], Annotated[SecretStr, AfterValidator(_check_value)]
]
"""Variables by name; their values are masked in every text."""


def values_of(variables: Variables) -> dict[str, str]:
    """The variables with their values in the clear, for the process alone."""
    return {name: value.get_secret_value() for name, value in variables.items()}
