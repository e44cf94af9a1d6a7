"""Who turns text into vectors: the choice by config, and the check of what comes."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holodeck_backend_claude.config import EmbeddingProviderConfig
from holodeck_backend_claude.contract import ConfigError, Embedder
from holodeck_backend_claude.retrieval.embedding import local
from holodeck_backend_claude.retrieval.embedding.models import service_model
from holodeck_backend_claude.retrieval.embedding.services import ServiceEmbedder
from holodeck_backend_claude.retrieval.errors import EmbeddingError

log = logging.getLogger(__name__)

Vector: TypeAlias = NDArray[np.float32]
"""Of shape ``(dimensions,)``, or ``(n, dimensions)`` for several."""


def make_embedder(
    config: EmbeddingProviderConfig | None, environment: Mapping[str, str]
) -> Embedder | None:
    """The embedder that agent.yaml asks for; it opens no connection and loads no model yet.

    Args:
        config: The block ``embedding_provider``, or None where there is none.
        environment: Where keys and addresses are looked up that agent.yaml does not give, see
            ``Agent.environment()``.

    Returns:
        The embedder; None where nothing was asked for and the local model is not installed.

    Raises:
        ConfigError: The provider is unknown, not installed, or lacks a setting.
    """
    if config is None:
        return _local_if_possible()
    if config.provider == local.PROVIDER:
        _refuse_settings_of_services(config)
        return local.LocalEmbedder(local.require_model())
    return ServiceEmbedder(service_model(config, environment))


def _local_if_possible() -> Embedder | None:
    try:
        return local.LocalEmbedder(local.require_model())
    except ConfigError as cause:
        log.info("no local embedding model: %s", cause)
        return None


def _refuse_settings_of_services(config: EmbeddingProviderConfig) -> None:
    if config.name not in {None, local.MODEL}:
        raise ConfigError(
            f"embedding_provider.name: the local provider has the model {local.MODEL!r} only, "
            f"not {config.name!r}; leave 'name' out"
        )
    if config.dimensions not in {None, local.DIMENSIONS}:
        raise ConfigError(
            f"embedding_provider.dimensions: {local.MODEL} makes vectors of {local.DIMENSIONS} "
            f"numbers, not {config.dimensions}; leave 'dimensions' out"
        )
    for setting in ("endpoint", "api_key", "api_version"):
        if getattr(config, setting) is not None:
            raise ConfigError(
                f"embedding_provider.{setting}: the local provider calls no service; leave "
                f"{setting!r} out, or name the provider of that service"
            )


def unit_vector(raw: Any, dimensions: int | None) -> Vector:
    """One vector as it came, checked and scaled to length 1.

    Args:
        raw: Numbers.
        dimensions: How many there must be; None takes any number but none.

    Raises:
        EmbeddingError: It is no vector: of another length, with NaN or infinity, or all zeros.
    """
    try:
        vector = np.asarray(raw, dtype=np.float32)
    except (TypeError, ValueError) as cause:
        raise EmbeddingError(f"the embedding is no list of numbers: {cause}") from cause
    if vector.ndim != 1 or vector.size == 0:
        raise EmbeddingError(f"the embedding has the shape {vector.shape}, not one row of numbers")
    if dimensions is not None and vector.size != dimensions:
        raise EmbeddingError(f"the embedding has {vector.size} numbers instead of {dimensions}")
    if not np.isfinite(vector).all():
        raise EmbeddingError("the embedding holds NaN or infinity")
    largest = np.abs(vector).max()
    if largest == 0:
        raise EmbeddingError("the embedding is all zeros")
    scaled = vector / largest  # first, so that no square overflows or vanishes
    unit: Vector = scaled / np.linalg.norm(scaled)
    return unit
