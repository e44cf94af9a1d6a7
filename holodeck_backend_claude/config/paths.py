"""Paths in an agent file: a mark for the fields that hold one, and what has to be there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from holodeck_backend_claude.config.model_fields import fields_named
from holodeck_backend_claude.config.problems import DataPath, shorten
from holodeck_backend_claude.config.source_names import (
    is_pattern,
    is_url,
    split_pattern,
    url_problem,
)

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

Kind: TypeAlias = Literal["text", "file", "folder", "any", "source"]
MAX_TEXT_BYTES = 1_000_000


@dataclass(frozen=True)
class ExistingPath:
    """Marks a field as a path that has to exist when the agent file is read.

    ``source: Annotated[str, ExistingPath("any")]``. Relative paths start from the folder of the
    agent file. A path out of that folder is reported.

    Attributes:
        kind: ``text`` is a UTF-8 file that is not blank; ``source`` may also be a URL, or a
            pattern, whose folder has to exist.
        inside: True to refuse a path out of the agent file's folder, links followed.
    """

    kind: Kind = "any"
    inside: bool = False


@dataclass(frozen=True)
class PathFinding:
    """What is to be said about a path; a notice unless ``is_error``."""

    path: DataPath
    message: str
    hint: str | None
    is_error: bool = True


def check_paths(model: type[BaseModel], data: Any, base_dir: Path) -> Iterator[PathFinding]:
    """Check every path in ``data`` that ``model`` marks, also where other values are wrong.

    Args:
        model: Its marks count, and those of the models in it.
        data: Plain data, not necessarily valid.
        base_dir: Where relative paths start; resolved.
    """
    yield from _walk([model], data, base_dir, ())


def _walk(
    annotations: list[Any], data: Any, base_dir: Path, path: DataPath
) -> Iterator[PathFinding]:
    if isinstance(data, list):
        for index, item in enumerate(data):
            yield from _walk(annotations, item, base_dir, (*path, index))
    elif isinstance(data, dict):
        for key, value in data.items():
            yield from _entry(annotations, value, base_dir, (*path, key))


def _entry(
    annotations: list[Any], value: Any, base_dir: Path, path: DataPath
) -> Iterator[PathFinding]:
    fields = fields_named(annotations, str(path[-1]))
    marks = [mark for field in fields for mark in _marks(field)]
    if marks and isinstance(value, str):
        if value.strip():
            yield from _check(marks[0], value.strip(), base_dir, path)
        return
    below = [field.annotation for field in fields] or annotations
    yield from _walk(below, value, base_dir, path)


def _marks(field: FieldInfo) -> Iterator[ExistingPath]:
    """The marks on a field, also where the field is optional."""
    for item in (*field.metadata, *_metadata(field.annotation)):
        if isinstance(item, ExistingPath):
            yield item


def _metadata(annotation: object) -> Iterator[object]:
    yield from getattr(annotation, "__metadata__", ())
    for argument in getattr(annotation, "__args__", ()):
        yield from _metadata(argument)


def _check(mark: ExistingPath, value: str, base_dir: Path, path: DataPath) -> Iterator[PathFinding]:
    if mark.kind == "source":
        yield from _check_source(value, base_dir, path)
        return
    wanted = {"text": "file", "any": "file or folder"}.get(mark.kind, mark.kind)
    shown = shorten(value)
    try:
        target = (base_dir / value).resolve()
        exists, is_file, is_folder = target.exists(), target.is_file(), target.is_dir()
    except (OSError, ValueError, RuntimeError) as cause:
        yield PathFinding(path, f"{shown} cannot be looked up: {cause}", None)
        return
    if not exists:
        hint = f"relative paths start from {base_dir}"
        yield PathFinding(path, f"there is no {wanted} {shown}", hint)
        return
    if (mark.kind == "folder" and not is_folder) or (mark.kind in {"text", "file"} and not is_file):
        yield PathFinding(path, f"{shown} is not a {wanted}", None)
        return
    if not target.is_relative_to(base_dir):
        yield _outside(mark, shown, base_dir, path)
        if mark.inside:
            return
    if mark.kind == "text":
        yield from _check_text(target, shown, path)


def _check_source(value: str, base_dir: Path, path: DataPath) -> Iterator[PathFinding]:
    if is_url(value):
        problem = url_problem(value)
        if problem is not None:
            yield PathFinding(path, f"{shorten(value)}: {problem}", None)
        return
    place = value
    if is_pattern(value) and not (base_dir / value).exists():
        place, _pattern = split_pattern(value)
    yield from _check(ExistingPath("any"), str(Path(place).expanduser()), base_dir, path)


def _outside(mark: ExistingPath, shown: str, base_dir: Path, path: DataPath) -> PathFinding:
    message = f"{shown} is outside the agent's folder"
    if mark.inside:
        return PathFinding(path, message, f"move or copy it into {base_dir}")
    return PathFinding(path, message, None, is_error=False)


def _check_text(target: Path, shown: str, path: DataPath) -> Iterator[PathFinding]:
    try:
        with target.open("rb") as stream:
            data = stream.read(MAX_TEXT_BYTES + 1)
        if len(data) > MAX_TEXT_BYTES:
            yield PathFinding(
                path, f"{shown} is larger than {MAX_TEXT_BYTES // 1_000_000} MB", None
            )
        elif not data.decode("utf-8-sig").strip():
            yield PathFinding(path, f"{shown} is empty", "write the text into it")
    except UnicodeDecodeError:
        yield PathFinding(path, f"{shown} is not UTF-8 text", "save it as UTF-8")
    except OSError as cause:
        yield PathFinding(path, f"{shown} cannot be read: {cause.strerror}", None)
