"""Import strings: how a description names a callable or class without importing it."""

from __future__ import annotations

import functools
import importlib
import re
from typing import Any

from holodeck_backend_claude.contract import PluginError
from holodeck_backend_claude.failures import error_text

_DOTTED = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_IMPORT_STRING = re.compile(f"{_DOTTED}:{_DOTTED}")


def is_import_string(text: str) -> bool:
    """Whether ``text`` is written as ``"package.module:attribute"``; nothing is imported."""
    return _IMPORT_STRING.fullmatch(text) is not None


def resolve(reference: Any) -> Any:
    """Return what ``"package.module:attribute"`` names; anything but a string is returned as is.

    Raises:
        PluginError: The string is malformed or names nothing, or the import itself fails.
    """
    if not isinstance(reference, str):
        return reference
    if not is_import_string(reference):
        raise PluginError(
            f"{reference!r} is not an import string; write it as 'package.module:attribute'"
        )
    module_name, _, attribute = reference.partition(":")
    try:
        return functools.reduce(getattr, attribute.split("."), importlib.import_module(module_name))
    except KeyboardInterrupt:
        raise
    except BaseException as cause:  # a module may also end in SystemExit; say which one did
        raise PluginError(f"cannot load {reference!r}: {error_text(cause)}") from cause
