"""A model in the ONNX format, loaded into this process without telling its maker."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_MOST_THREADS = 8
_NO_TELEMETRY = "ORT_DISABLE_TELEMETRY"


def load_session(path: Path) -> Any:
    """An ``onnxruntime.InferenceSession`` on the processor, for use by one thread at a time."""
    with _untold():
        import onnxruntime  # type: ignore[import-untyped]

    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = max(2, min(os.cpu_count() or 2, _MOST_THREADS))
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


@contextmanager
def _untold() -> Iterator[None]:
    """Import onnxruntime without its telling its maker, which it does over the network at once.

    Its own switch comes too late for that, and ``os.environ`` is not ours to change: the variable
    is there for the library alone, and for as long as it takes.
    """
    if _NO_TELEMETRY in os.environ:
        yield
        return
    os.putenv(_NO_TELEMETRY, "1")
    try:
        yield
    finally:
        os.unsetenv(_NO_TELEMETRY)
