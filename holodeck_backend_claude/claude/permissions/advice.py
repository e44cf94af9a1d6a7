"""What the user is told, once, of tools that nobody can be asked about."""

from __future__ import annotations

from collections.abc import Sequence

from holodeck_backend_claude.claude.settings.built_ins import FILE_TOOLS

_ACCEPT_ALL = "acceptAll with i_understand_this_is_unsafe: true"


def unasked_advice(names: Sequence[str]) -> str:
    """That every call of these tools will be denied, and what each kind of them needs.

    Args:
        names: The tools; at least one.
    """
    files = [name for name in names if name in FILE_TOOLS]
    others = [name for name in names if name not in FILE_TOOLS]
    modes = [
        *([f"acceptEdits runs {', '.join(files)}"] if files else []),
        *([f"{_ACCEPT_ALL} runs {', '.join(others)}"] if others else []),
    ]
    return (
        f"{', '.join(names)}: granted, but every call will be denied, because nobody can be asked "
        f"in this run. 'holodeck-claude chat' asks; without asking, claude.permission_mode: "
        f"{', and '.join(modes)}"
    )
