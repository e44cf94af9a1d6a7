"""What goes wrong in retrieval, with texts written for the user."""

from __future__ import annotations

from holodeck_backend_claude.contract import HoloDeckError


class RetrievalError(HoloDeckError):
    """The index cannot be opened, written or searched; the text says what to do."""


class EmbeddingError(RetrievalError):
    """An embedding call failed.

    Attributes:
        rejected_input: True if the texts themselves were refused, so that other texts may work;
            False if the provider cannot be used now, whatever the texts.
    """

    def __init__(self, message: str, *, rejected_input: bool = False) -> None:
        super().__init__(message)
        self.rejected_input = rejected_input
