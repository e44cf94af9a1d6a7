"""How the code of this folder says that a turn failed; the reasons are those of ``outcomes``."""

from __future__ import annotations


class TurnFailedError(Exception):
    """A turn that did not end as it should.

    Attributes:
        reason: What ``ExecutionResult.error_reason`` says.
        detail: What the provider or tool said, secrets masked; may be empty.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


class AnswerCutError(Exception):
    """The stream ended before the model said that its answer is complete."""

    def __init__(self) -> None:
        super().__init__("the answer ended before it was complete")
