"""Import strings: how a description names a callable or class without importing it."""

from __future__ import annotations

import importlib
from typing import Any

from holodeck_backend_claude.contract import PluginError


def resolve(reference: Any) -> Any:
    """Return what ``"package.module:attribute"`` names; anything but a string is returned as is.

    Raises:
        PluginError: The string is malformed, or names nothing.
    """
    if not isinstance(reference, str):
        return reference
    module_name, separator, attribute = reference.partition(":")
    if not separator or not module_name or not attribute:
        raise PluginError(
            f"{reference!r} is not an import string; write it as 'package.module:attribute'"
        )
    try:
        return getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError) as cause:
        raise PluginError(f"cannot load {reference!r}: {cause}") from cause
