"""What a pydantic model says about the value at a path: its keys, and whether it is secret."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias, get_args

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


def required_at(model: type[BaseModel], path: DataPath) -> list[str]:
    """The keys that have to stand in the mapping at ``path``."""
    found = [sub for annotation in _at(model, path) for sub in _models_in(annotation)]
    return [
        field.alias or name
        for sub in found[:1]
        for name, field in sub.model_fields.items()
        if field.is_required()
    ]


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
