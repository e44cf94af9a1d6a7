"""A script being played: which answer the next model request gets."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator, Sequence

from holodeck_backend_claude.testing.answers import Answer, Step
from holodeck_backend_claude.testing.request import ModelRequest
from holodeck_backend_claude.testing.script import AnswerFunction, Forever, Script


class ScriptError(Exception):
    """The script gave no answer; the text says why."""


class Playback:
    """The answers of a script, one after the other.

    Raises:
        TypeError: The script holds something that is no step.
        ValueError: ``forever(...)`` is not the last step.
    """

    def __init__(self, script: Script) -> None:
        steps = _as_list(script)
        for position, step in enumerate(steps, 1):
            if not isinstance(step, Step) and not callable(step):
                raise TypeError(f"step {position} of the script is {step!r}; use say(...) and co.")
            if isinstance(step, Forever) and position < len(steps):
                raise ValueError(f"step {position} of the script is forever(...), but not the last")
        self._length = len(steps)
        self._steps = _endless(steps)

    async def answer(self, request: ModelRequest) -> Answer:
        """The answer to the next request.

        Raises:
            ScriptError: The script has ended, or its function failed.
        """
        step = next(self._steps, None)
        if step is None:
            raise ScriptError(
                f"the script has ended: it had {self._length} answers, and this request is one "
                "more; add an answer, or end the script with forever(...)"
            )
        return await _taken(step, request)


def _as_list(script: Script) -> list[Step | AnswerFunction]:
    if isinstance(script, Sequence):
        return list(script)
    return [Forever(script)] if callable(script) else [script]


def _endless(steps: list[Step | AnswerFunction]) -> Iterator[Step | AnswerFunction]:
    for step in steps:
        if isinstance(step, Forever):
            yield from itertools.repeat(step.step)
        else:
            yield step


async def _taken(step: Step | AnswerFunction, request: ModelRequest) -> Answer:
    try:
        answer: object = step(request) if callable(step) else step
        if inspect.isawaitable(answer):
            answer = await answer
    except Exception as cause:
        raise ScriptError(f"the script raised {type(cause).__name__}: {cause}") from cause
    if not isinstance(answer, Answer):
        raise ScriptError(
            f"the script returned {answer!r}, which is no answer; use say(...) and co."
        )
    return answer
