"""What became of each plugin: the entries of the listing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from holodeck_backend_claude.contract import PluginError
from holodeck_backend_claude.registry import Registry

PluginState: TypeAlias = Literal["loaded", "blocked", "failed"]


@dataclass(frozen=True)
class PluginInfo:
    """What became of one plugin.

    Attributes:
        name: Its entry-point name.
        distribution: The distribution it comes from.
        version: That distribution's version.
        entry_point: What the entry point names.
        default: Whether the core registers it itself.
        state: ``loaded``, ``blocked`` or ``failed``.
        cause: Who blocked it, or why it failed.
        provides: What it brings, one line each: ``backend x``, ``tool x``, ``adapter x on y``.
        import_seconds: How long its import took; None where it was not imported.
        warnings: What is odd about it though it loaded.
    """

    name: str
    distribution: str
    version: str
    entry_point: str
    default: bool
    state: PluginState
    cause: str | None = None
    provides: tuple[str, ...] = ()
    import_seconds: float | None = None
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain data, in the order of the declaration."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True)
class Plugins:
    """The result of loading.

    Attributes:
        registry: What the loaded plugins contributed.
        infos: One entry per plugin: the defaults, then the others by distribution and name.
        warnings: Names in allow or block lists that match no plugin.
    """

    registry: Registry
    infos: tuple[PluginInfo, ...]
    warnings: tuple[str, ...] = ()

    @property
    def failed(self) -> tuple[PluginInfo, ...]:
        """The plugins that should have loaded and could not."""
        return tuple(info for info in self.infos if info.state == "failed")

    def require_all(self) -> None:
        """Raise if any plugin failed.

        Raises:
            PluginError: Names every failed plugin with its cause.
        """
        if not self.failed:
            return
        lines = [
            f"  {info.name} ({info.distribution} {info.version}): {info.cause}"
            for info in self.failed
        ]
        raise PluginError(
            "\n".join(
                [
                    f"{len(lines)} plugin{'s' * (len(lines) > 1)} failed to load:",
                    *lines,
                    "Mend, uninstall or block them, or do without strict loading.",
                ]
            )
        )
