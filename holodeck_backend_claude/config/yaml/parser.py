"""YAML text to nodes: the safe subset of YAML 1.1, with limits, without recursion.

The events of the parser are read one by one into nodes. So a text that nests or repeats itself
without end is left after its first excess, and no text can exhaust the stack. Unlike PyYAML's own
loader, it refuses duplicate keys, reads keys as the text they are, and leaves dates as text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import yaml

from holodeck_backend_claude.config.model_fields import is_secret
from holodeck_backend_claude.config.problems import DataPath, Findings, Mark, shorten
from holodeck_backend_claude.config.yaml.nodes import Node, Scalar
from holodeck_backend_claude.config.yaml.scalars import MERGE, TAG, construct, is_known, tag_of
from holodeck_backend_claude.config.yaml.yaml_words import explain

MAX_DEPTH = 64
MAX_VALUES = 200_000

_COLLECTIONS = {yaml.MappingStartEvent: TAG + "map", yaml.SequenceStartEvent: TAG + "seq"}
_SAFE_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class UnreadableError(Exception):
    """The text cannot be read any further."""

    def __init__(self, mark: Mark | None, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.mark = mark
        self.message = message
        self.hint = hint


def parse(text: str, findings: Findings, loader: Any = _SAFE_LOADER) -> Node | None:
    """Read one YAML document.

    Args:
        text: The whole file.
        findings: Told what is wrong but does not end the reading, such as duplicate keys.
        loader: The PyYAML loader whose parser is used.

    Returns:
        The root, or None where the text holds nothing.

    Raises:
        UnreadableError: The text is not YAML, or exceeds a limit.
    """
    reader = _Reader(findings)
    try:
        for event in yaml.parse(text, Loader=loader):
            reader.take(event)
    except yaml.MarkedYAMLError as cause:
        mark, message, hint = explain(cause, text)
        raise UnreadableError(mark, message, hint) from None
    return reader.root


@dataclass(slots=True)
class _Frame:
    """A list or mapping that is being read."""

    node: Node
    path: DataPath
    anchor: str | None
    key: str | None = None
    key_mark: Mark | None = None
    merging: bool = False
    merges: list[Node] = field(default_factory=list)


class _Reader:
    """Builds nodes from parser events."""

    def __init__(self, findings: Findings) -> None:
        self.root: Node | None = None
        self._findings = findings
        self._stack: list[_Frame] = []
        self._anchors: dict[str, Node | None] = {}
        self._values = 0

    def take(self, event: Any) -> None:
        match event:
            case yaml.ScalarEvent():
                self._scalar(event)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self._begin(event)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._end()
            case yaml.AliasEvent():
                self._alias(event)
            case yaml.DocumentStartEvent() if self.root is not None:
                raise UnreadableError(
                    _mark(event),
                    "a second YAML document begins here",
                    "an agent file is one document: remove the '---' line, or use two files",
                )

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        tag = tag_of(event)
        frame = self._stack[-1] if self._stack else None
        if frame and self._awaits_key(frame):
            self._key(frame, event.value, tag == MERGE, _mark(event))
            if event.anchor:
                self._anchors[event.anchor] = Node(_mark(event), event.value, event.value)
            return
        if event.anchor and not event.value and event.implicit[0]:
            self._findings.error(
                _mark(event),
                self._here(),
                "this value begins with '&', which makes it the name of an anchor, and is empty",
                hint="text that begins with '&' has to be in quotes",
            )
        node = Node(_mark(event), None, event.value)
        node.value = self._construct(node, tag, self._here())
        if event.anchor:
            self._anchors[event.anchor] = node
        self._place(node)

    def _begin(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent) -> None:
        mark = _mark(event)
        if self._stack and self._awaits_key(self._stack[-1]):
            raise UnreadableError(
                mark,
                "a list or mapping stands where a key is expected",
                "text that begins with '{' or '[', such as '{{ name }}', has to be in quotes",
            )
        if len(self._stack) >= MAX_DEPTH:
            raise UnreadableError(mark, f"the values nest more than {MAX_DEPTH} levels deep")
        node = Node(mark, {} if isinstance(event, yaml.MappingStartEvent) else [])
        path = self._here()
        if event.tag not in {None, "!", _COLLECTIONS[type(event)]}:
            self._unknown_tag(mark, path, event.tag)
        if event.anchor:
            self._anchors[event.anchor] = None  # open: an alias to it would contain itself
        self._stack.append(_Frame(node, path, event.anchor))

    def _end(self) -> None:
        frame = self._stack.pop()
        for merged in frame.merges:
            for key, node in merged.mapping.items():
                frame.node.mapping.setdefault(key, node)
                frame.node.keys.setdefault(key, merged.keys[key])
        if frame.anchor:
            self._anchors[frame.anchor] = frame.node
        self._place(frame.node)

    def _alias(self, event: yaml.AliasEvent) -> None:
        mark, name = _mark(event), event.anchor
        if name not in self._anchors:
            secret = is_secret(None, self._here())
            raise UnreadableError(
                mark,
                "this value begins with '*' and so refers to an anchor that is not there"
                if secret
                else f"'*{name}' refers to an anchor '&{name}' that is not there",
                "text that begins with '*' has to be in quotes",
            )
        target = self._anchors[name]
        if target is None:
            raise UnreadableError(mark, f"the anchor '&{name}' contains itself")
        frame = self._stack[-1]
        if self._awaits_key(frame):
            if target.written is None:
                raise UnreadableError(mark, f"the key '*{name}' is not text")
            self._key(frame, target.written, False, mark)
            return
        self._place(Node(mark, target.value, target.written, target.keys, target.size))

    def _awaits_key(self, frame: _Frame) -> bool:
        return isinstance(frame.node.value, dict) and frame.key is None

    def _here(self) -> DataPath:
        """The path of the value that comes next."""
        if not self._stack:
            return ()
        frame = self._stack[-1]
        if frame.merging:
            return frame.path
        return (*frame.path, len(frame.node.items) if frame.key is None else frame.key)

    def _key(self, frame: _Frame, key: str, is_merge: bool, mark: Mark) -> None:
        path = (*frame.path, key)
        if key == "":
            raise UnreadableError(mark, "a key is empty")
        first = frame.node.keys.get(key)
        if first and key in frame.node.mapping:
            self._findings.error(
                mark,
                path,
                f"the key {shorten(key)} stands here and in line {first.line}",
                hint="keep one of the two; only one can count",
            )
        frame.key, frame.key_mark, frame.merging = key, mark, is_merge

    def _place(self, node: Node) -> None:
        self._values += node.size
        if self._values > MAX_VALUES:
            raise UnreadableError(
                node.mark,
                f"the file holds more than {MAX_VALUES:,} values, aliases counted as often as used",
            )
        if not self._stack:
            self.root = node
            return
        frame = self._stack[-1]
        frame.node.size += node.size
        if isinstance(frame.node.value, list):
            frame.node.value.append(node)
        elif frame.merging:
            self._merge(frame, node)
        elif frame.key and frame.key_mark and frame.key not in frame.node.mapping:
            frame.node.mapping[frame.key] = node
            frame.node.keys[frame.key] = frame.key_mark
        frame.key, frame.key_mark, frame.merging = None, None, False

    def _merge(self, frame: _Frame, node: Node) -> None:
        sources = node.items or [node]
        if not all(isinstance(source.value, dict) for source in sources):
            raise UnreadableError(node.mark, "'<<' takes a mapping or a list of mappings")
        frame.merges.extend(sources)

    def _construct(self, node: Node, tag: str, path: DataPath) -> Scalar:
        text = node.written or ""
        if not is_known(tag):
            self._unknown_tag(node.mark, path, tag)
            return text
        try:
            return construct(text, tag)
        except ValueError:
            kind = tag.removeprefix(TAG)
            shown = "this value" if is_secret(None, path) else shorten(text)
            self._findings.error(node.mark, path, f"{shown} cannot be read as YAML's {kind!r}")
            return text

    def _unknown_tag(self, mark: Mark, path: DataPath, tag: str) -> None:
        shown = tag.replace(TAG, "!!")
        self._findings.error(
            mark,
            path,
            "the tag of this value is not supported"
            if is_secret(None, path)
            else f"the tag {shorten(shown)} is not supported",
            hint="an agent file holds plain values only: remove the tag, or put the text in quotes",
        )


def _mark(event: yaml.Event) -> Mark:
    mark: Any = event.start_mark
    return Mark(mark.line + 1, mark.column + 1)
