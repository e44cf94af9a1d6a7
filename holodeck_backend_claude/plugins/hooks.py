"""pluggy, with the API version and hooks of a plugin checked, and each hook a typed method."""

from __future__ import annotations

import contextlib
import inspect
import sys
import types
from collections.abc import Iterator

import pluggy

from holodeck_backend_claude import hookspecs
from holodeck_backend_claude.contract import PluginError
from holodeck_backend_claude.hookspecs import API_VERSION, PROJECT
from holodeck_backend_claude.plugins.importing import contained

HOOKS = tuple(sorted(name for name in vars(hookspecs) if name.startswith(f"{PROJECT}_")))


class Hooks:
    """pluggy with one plugin in it at a time.

    So a hook that raises hides no other plugin's answer, and leaving a plugin out needs no
    taking back. The hook specifications are read once.
    """

    def __init__(self) -> None:
        self._manager = pluggy.PluginManager(PROJECT)
        self._manager.add_hookspecs(hookspecs)

    @contextlib.contextmanager
    def of(self, plugin: object) -> Iterator[None]:
        """Within this, the methods below call the hooks of this plugin.

        Raises:
            PluginError: It was written for another API, or a hook of it could never be called.
        """
        _check_api(plugin)
        _check_names(plugin)
        try:
            self._manager.register(plugin)
            self._manager.check_pending()
            yield
        except pluggy.PluginValidationError as error:
            raise PluginError(" ".join(str(error).split())) from error
        finally:
            if self._manager.is_registered(plugin):
                self._manager.unregister(plugin)

    def register_backend(self) -> list[object]:
        """What ``holodeck_register_backend`` returned, unchecked; one entry per answer."""
        return self._call("holodeck_register_backend")

    def adapt_tool(self) -> list[object]:
        """What ``holodeck_adapt_tool`` returned, unchecked; one entry per answer."""
        return self._call("holodeck_adapt_tool")

    def register_reranker(self) -> list[object]:
        """What ``holodeck_register_reranker`` returned, unchecked; one entry per answer."""
        return self._call("holodeck_register_reranker")

    def _call(self, hook: str) -> list[object]:
        with contained(hook):
            answers: list[object] = getattr(self._manager.hook, hook)()
        return answers


def _check_api(plugin: object) -> None:
    version = getattr(plugin, "HOLODECK_API", None)
    if version is None:  # an object or class speaks for itself, or its module does
        module = sys.modules.get(getattr(plugin, "__module__", None) or "")
        version = getattr(module, "HOLODECK_API", None)
    if version is None:
        raise PluginError(
            "it does not say which plugin API it was written for; "
            f"put HOLODECK_API = {API_VERSION} into its module"
        )
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise PluginError(f"its HOLODECK_API is {version!r}, which is not a whole number from 1 on")
    if version > API_VERSION:
        raise PluginError(
            f"it was written for plugin API {version}, and this is {API_VERSION}; "
            "upgrade holodeck-backend-claude, or install an older version of the plugin"
        )


def _check_names(plugin: object) -> None:
    """What looks like a hook and would be ignored without a word is an error."""
    for name in dir(plugin):
        if not name.startswith(f"{PROJECT}_"):
            continue
        attribute = inspect.getattr_static(plugin, name, None)
        if isinstance(attribute, types.ModuleType | type) or not callable(
            getattr(attribute, "__func__", attribute)
        ):
            continue
        marker = getattr(getattr(attribute, "__func__", attribute), f"{PROJECT}_impl", None)
        if name not in HOOKS and not (marker and (marker["optionalhook"] or marker["specname"])):
            raise PluginError(f"it has an unknown hook {name!r}; the hooks are {', '.join(HOOKS)}")
        if name in HOOKS and marker is None:
            raise PluginError(f"its {name!r} is not marked; put @hookimpl above it")
