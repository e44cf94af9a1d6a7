"""How the events of a turn look."""

from __future__ import annotations

import io

import pytest

from holodeck_backend_claude.chat import TurnDisplay
from holodeck_backend_claude.chat.printable import print_error, printable
from holodeck_backend_claude.contract import (
    ExecutionResult,
    Retrying,
    TextDelta,
    ThinkingDelta,
    ToolEnd,
    ToolStart,
    TurnEnd,
    TurnEvent,
)


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(*events: TurnEvent, terminal: bool = False) -> tuple[str, str]:
    answers, notes = (Tty(), Tty()) if terminal else (io.StringIO(), io.StringIO())
    display = TurnDisplay(answers, notes)
    for event in events:
        display.show(event)
    return answers.getvalue(), notes.getvalue()


END = TurnEnd(ExecutionResult("Hello you"))


def test_deltas_are_written_as_they_come_and_end_in_a_line_end() -> None:
    assert shown(TextDelta("Hello "), TextDelta("you"), END) == ("Hello you\n", "")


def test_an_answer_with_a_line_end_gets_no_second_one() -> None:
    assert shown(TextDelta("Hello you\n"), END) == ("Hello you\n", "")


def test_an_answer_without_deltas_is_written_once() -> None:
    assert shown(END) == ("Hello you\n", "")


def test_a_turn_without_text_writes_nothing() -> None:
    assert shown(TextDelta(""), TurnEnd(ExecutionResult(""))) == ("", "")


def test_each_turn_begins_anew() -> None:
    assert shown(TextDelta("Hello you"), END, END) == ("Hello you\nHello you\n", "")


def test_a_tool_call_stands_on_a_line_of_its_own() -> None:
    answers, notes = shown(
        TextDelta("Let me see."),
        ToolStart("c", "kb_search", {"query": "é", "n": 2}),
        ToolEnd("c", "kb_search", "", is_error=False),
        ToolEnd("c", "kb_search", "no index\ndetails", is_error=True),
        TextDelta("Done."),
        TurnEnd(ExecutionResult("Done.")),
    )
    assert answers == "Let me see.\nDone.\n"
    assert notes.splitlines() == [
        '  kb_search(query="é", n=2)',
        "  kb_search gave: nothing",
        "  kb_search failed: no index (and 1 more lines)",
    ]


def test_long_arguments_and_results_are_cut() -> None:
    _, notes = shown(
        ToolStart("c", "t", {"text": "x" * 500}), ToolEnd("c", "t", "y" * 500, is_error=False)
    )
    assert all(len(line) < 130 for line in notes.splitlines())


def test_retries_are_noted() -> None:
    _, notes = shown(Retrying(2, "rate limited", 1.5))
    assert notes == "  rate limited; trying again in 1.5 s (attempt 2)\n"


def test_a_failed_turn_shows_what_there_was_and_why_it_ended() -> None:
    result = ExecutionResult("so", is_error=True, error_reason="refused", error_detail="policy")
    assert shown(TextDelta("so"), TurnEnd(result)) == ("so\n", "Error: refused: policy\n")


def test_thinking_is_shown_on_a_terminal_only() -> None:
    events = (ThinkingDelta("Hm. "), ThinkingDelta("So."), TextDelta("Hello you"), END)
    assert shown(*events) == ("Hello you\n", "")
    answers, notes = shown(*events, terminal=True)
    assert answers == "Hello you\n"
    assert notes == "\x1b[2mHm. \x1b[0m\x1b[2mSo.\x1b[0m\n"


@pytest.mark.parametrize(
    ("text", "on_terminal"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("a\r\nb", "a\nb"),
        ("\x1b]0;title\x07\x1b[2J\x9b1m\x08", "�]0;title��[2J�1m�"),
        ("broken \ud800", "broken ?"),
    ],
)
def test_text_controls_no_terminal(text: str, on_terminal: str) -> None:
    assert printable(text, Tty()) == on_terminal


def test_text_in_a_pipe_stays_as_it_is() -> None:
    assert printable("\x1b[1m é", io.StringIO()) == "\x1b[1m é"


def test_text_that_a_stream_cannot_encode_is_replaced() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    assert printable("é!", stream) == "?!"


def test_an_error_is_told_in_one_line_that_controls_no_terminal() -> None:
    terminal, pipe = Tty(), io.StringIO()
    for stream in (terminal, pipe):
        print_error("refused: \x1b]0;title\x07", stream)
        print_error("odd", stream, label="Internal error")
    assert terminal.getvalue() == (
        "\x1b[31m\x1b[1mError: \x1b[0mrefused: �]0;title�\n"
        "\x1b[31m\x1b[1mInternal error: \x1b[0modd\n"
    )
    assert pipe.getvalue() == "Error: refused: \x1b]0;title\x07\nInternal error: odd\n"
