"""The values of a YAML file with the place of each key and value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from holodeck_backend_claude.config.problems import DataPath, Mark

Scalar: TypeAlias = "bool | int | float | str | None"


@dataclass(slots=True)
class Node:
    """A scalar, a list or a mapping.

    Attributes:
        mark: Where it begins.
        value: The scalar, or the nodes below.
        written: A scalar as the file has it.
        keys: Of a mapping: where each key stands.
        size: How many values it holds, itself and repeated aliases included.
    """

    mark: Mark
    value: Scalar | list[Node] | dict[str, Node]
    written: str | None = None
    keys: dict[str, Mark] = field(default_factory=dict)
    size: int = 1

    @property
    def mapping(self) -> dict[str, Node]:
        """The entries of a mapping; empty for anything else."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def items(self) -> list[Node]:
        """The items of a list; empty for anything else."""
        return self.value if isinstance(self.value, list) else []

    def child(self, step: str | int) -> Node | None:
        """The node one step below, or None."""
        if isinstance(step, str):
            return self.mapping.get(step)
        return self.items[step] if 0 <= step < len(self.items) else None

    def plain(self) -> object:
        """The values alone, as they are in the file."""
        if isinstance(self.value, dict):
            return {key: child.plain() for key, child in self.value.items()}
        if isinstance(self.value, list):
            return [child.plain() for child in self.value]
        return self.value

    def find(self, path: DataPath) -> Node | None:
        """The node at ``path`` below this one, or None."""
        node: Node | None = self
        for step in path:
            node = node.child(step) if node else None
        return node

    def place(self, path: DataPath, *, key: bool = False) -> Mark:
        """Where the value at ``path`` (or its key) stands, or the nearest one above it."""
        node, mark = self, self.mark
        for step in path:
            below = node.child(step)
            if below is None:
                break
            key_mark = node.keys.get(step) if isinstance(step, str) else None
            mark = key_mark if key and key_mark else below.mark
            node = below
        return mark


def type_name(value: object) -> str:
    """What a reader of YAML calls a value of this kind."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list() | tuple():
            return "a list"
        case _:
            return "a mapping"
