"""Find, load, isolate, list, allow and block plugins."""

from holodeck_backend_claude.plugins.choice import (
    ALLOW_VARIABLE,
    BLOCK_VARIABLE,
    Choice,
    NameList,
    PluginLists,
)
from holodeck_backend_claude.plugins.loading import (
    load_plugin_objects,
    load_plugins,
    load_sources,
)
from holodeck_backend_claude.plugins.report import PluginInfo, Plugins, PluginState
from holodeck_backend_claude.plugins.sources import (
    DEFAULTS,
    KNOWN_NAMES,
    OWN_DISTRIBUTION,
    Source,
    default_sources,
    installed_sources,
)

__all__ = [
    "ALLOW_VARIABLE",
    "BLOCK_VARIABLE",
    "DEFAULTS",
    "KNOWN_NAMES",
    "OWN_DISTRIBUTION",
    "Choice",
    "NameList",
    "PluginInfo",
    "PluginLists",
    "PluginState",
    "Plugins",
    "Source",
    "default_sources",
    "installed_sources",
    "load_plugin_objects",
    "load_plugins",
    "load_sources",
]
