"""What a pydantic model says about the value at a path: its keys, and whether it is secret."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, TypeAlias, get_args, get_origin

from pydantic import BaseModel, SecretBytes, SecretStr
from pydantic.fields import FieldInfo

from holodeck_backend_claude.config.problems import DataPath
from holodeck_backend_claude.redaction import is_secret_name

Annotation: TypeAlias = Any


def keys_at(model: type[BaseModel], path: DataPath) -> list[str]:
    """The keys that may stand in the mapping at ``path``."""
    found = [sub for annotation in _at(model, path) for sub in _models_in(annotation)]
    return [name for sub in found for name in key_names(sub)]


def key_names(model: type[BaseModel]) -> list[str]:
    """The keys of a model as a file writes them."""
    return [field.alias or name for name, field in model.model_fields.items()]


def example_at(model: type[BaseModel], path: DataPath, said: object = None) -> str | None:
    """What could stand at ``path``, in one line; None where nobody knows.

    Args:
        model: The model of the data that ``path`` leads into.
        path: Where the value stands.
        said: What stands there; a word of it that is right is kept.
    """
    *above, key = path
    fields = fields_named(_at(model, tuple(above)), key) if isinstance(key, str) else []
    for field in fields:
        for example in field.examples or ():
            return str(example)
    found = [sub for annotation in _at(model, path) for sub in _models_in(annotation)]
    return _mapping(found[0], said) if found else None


def _mapping(model: type[BaseModel], said: object) -> str | None:
    """The keys that a mapping has to have, or the switch that is its only need."""
    parts = [
        f"{field.alias or name}: {_word(field.annotation, said)}"
        for name, field in model.model_fields.items()
        if field.is_required()
    ]
    if not parts and isinstance(said, bool) and "enabled" in model.model_fields:
        parts = [f"enabled: {str(said).lower()}"]
    return f"{{{', '.join(parts)}}}" if parts else None


def _word(annotation: Annotation, said: object) -> str:
    origin: Any = get_origin(annotation)
    words = get_args(annotation) if origin is Literal else ()
    return str(said if said in words else words[0]) if words else "…"


def is_secret(model: type[BaseModel] | None, path: DataPath) -> bool:
    """Whether the value at ``path`` is, or by its name may be, a secret."""
    if any(isinstance(step, str) and is_secret_name(step) for step in path):
        return True
    if model is None:
        return False
    return any(
        part in (SecretStr, SecretBytes)
        for annotation in _at(model, path)
        for part in _parts(annotation)
    )


def fields_named(annotations: list[Annotation], key: str) -> list[FieldInfo]:
    """The fields that a file calls ``key``, of the models in these annotations."""
    return [
        field
        for annotation in annotations
        for model in _models_in(annotation)
        for name, field in model.model_fields.items()
        if key == (field.alias or name)
    ]


def _at(model: type[BaseModel], path: DataPath) -> list[Annotation]:
    current: list[Annotation] = [model]
    for step in path:
        fields = fields_named(current, step) if isinstance(step, str) else []
        # without a field it is an index, or the key of a free mapping
        current = [field.annotation for field in fields] or current
    return current


def _models_in(annotation: Annotation) -> Iterator[type[BaseModel]]:
    for part in _parts(annotation):
        if isinstance(part, type) and issubclass(part, BaseModel):
            yield part


def _parts(annotation: Annotation) -> Iterator[Annotation]:
    """The annotation, and what it is made of: unions, lists, mappings, annotated types."""
    yield annotation
    for argument in get_args(annotation):
        yield from _parts(argument)
