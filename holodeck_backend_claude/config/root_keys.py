"""The keys in the first column of an agent file: whose each is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holodeck_backend_claude.config import upstream_keys
from holodeck_backend_claude.config.agent_reader import Reading
from holodeck_backend_claude.config.models import Agent
from holodeck_backend_claude.config.pydantic_words import not_in_this_version, unknown_key

if TYPE_CHECKING:
    from holodeck_backend_claude.hookspecs import BackendType
    from holodeck_backend_claude.registry import Provided, Registry

_NOT_IN_FILES = {"settings", "base_dir", "dotenv", "variables"}
FILE_KEYS = tuple(name for name in Agent.model_fields if name not in _NOT_IN_FILES)
CORE_KEYS = tuple(name for name in FILE_KEYS if name != "tools")

_LIST_PLUGINS = "`holodeck-claude plugins` lists what is loaded"


def from_plugins(registry: Registry) -> str:
    """Where more may come from, with the plugins that are left out and may be what is missing."""
    return "; ".join([_LIST_PLUGINS, *map(str, registry.unread)])


def settings_backends(registry: Registry) -> dict[str, Provided[BackendType]]:
    """The backends that have a block of their own, by the key of that block."""
    return {
        provided.value.settings_key: provided
        for provided in registry.backends.values()
        if provided.value.settings_key and provided.value.settings
    }


def sort_root_keys(reading: Reading, registry: Registry) -> None:
    """Report every key in the first column that no one reads, and whose it is."""
    blocks = settings_backends(registry)
    known = [*FILE_KEYS, *blocks]
    for key in reading.source.root.mapping:
        if key in known:
            continue
        if key in upstream_keys.FOREIGN:
            reading.notice(
                (key,), f"{key!r} is for {upstream_keys.FOREIGN[key]}; nothing here reads it"
            )
        elif upstream_keys.is_published((key,)):
            message, hint = not_in_this_version(key)
            reading.error((key,), message, hint=hint, at_key=True)
        elif absent := registry.why_absent("settings", key):
            reading.error(
                (key,),
                f"no loaded backend reads the block {key!r}: {absent}",
                hint=f"unblock or install that plugin, or remove the block; {_LIST_PLUGINS}",
                at_key=True,
            )
        else:
            message, hint_keys = unknown_key(key, known)
            hint = f"{hint_keys}; a plugin may bring further blocks: {from_plugins(registry)}"
            reading.error((key,), message, hint=hint, at_key=True)
