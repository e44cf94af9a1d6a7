"""The Semantic Kernel plugin: what it contributes, as import strings, and nothing else."""

from __future__ import annotations

from holodeck_backend_claude.hookspecs import BackendType, hookimpl

HOLODECK_API = 1
NAME = "semantic-kernel"
SETTINGS_KEY = "semantic_kernel"


@hookimpl
def holodeck_register_backend() -> BackendType:
    """The backend that runs an agent on Semantic Kernel."""
    return BackendType(
        name=NAME,
        providers=("openai", "azure_openai", "ollama"),
        factory="holodeck_backend_claude.sk.backend:SKBackend",
        settings_key=SETTINGS_KEY,
        settings="holodeck_backend_claude.sk.settings:SKSettings",
    )
