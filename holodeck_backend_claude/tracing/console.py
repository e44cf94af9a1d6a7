"""Telemetry as JSON on stderr; stdout belongs to the answers."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from holodeck_backend_claude.config.observability import ConsoleExporterConfig

_TIMES = frozenset(
    {"start_time", "end_time", "timestamp", "observed_timestamp"}
    | {"start_time_unix_nano", "time_unix_nano"}
)


class Stderr:
    """Whatever stderr is when something is written; one that is closed changes nothing."""

    def write(self, text: str) -> int:
        """Write a text."""
        try:
            return sys.stderr.write(text)
        except (OSError, ValueError, AttributeError):
            return 0

    def flush(self) -> None:
        """Write out what is buffered."""
        try:
            sys.stderr.flush()
        except (OSError, ValueError, AttributeError):
            return


def formatter(config: ConsoleExporterConfig) -> Callable[[Any], str]:
    """How an item that has ``to_json()`` is written."""
    indent = 2 if config.pretty_print else None

    def write(item: Any) -> str:
        data = json.loads(item.to_json())
        if not config.include_timestamps:
            data = _without_times(data)
        return json.dumps(data, indent=indent, ensure_ascii=False) + "\n"

    return write


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_times(item) for key, item in value.items() if key not in _TIMES}
    if isinstance(value, list):
        return [_without_times(item) for item in value]
    return value
