"""The lines about denied calls: which calls, why, on one line, and nothing secret."""

from __future__ import annotations

from typing import Any

from holodeck_backend_claude.chat.denials import denial_lines

KEY = "sk-ant-api03-abcdefghijklmnop0123456789"


def denied(name: str, reason: str = "no", **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments, "call_id": "1", "reason": reason}


def test_the_call_is_shown_and_a_reason_that_several_share_once() -> None:
    lines = denial_lines(
        [
            denied("Bash", command="echo hi > made.txt"),
            denied("Write", file_path="a.txt", content="long"),
            denied("wipe", "the user said no", table="users", all=True),
        ]
    )
    assert lines == [
        "denied: Bash(echo hi > made.txt), Write(a.txt): no",
        'denied: wipe(table="users", all=true): the user said no',
    ]


def test_a_line_stays_one_short_line_without_secrets_and_controls() -> None:
    (line,) = denial_lines([denied("Bash", f"a\nb {KEY}", command=f"{KEY}\n\x1b[2J{'x' * 500}")])
    assert KEY not in line
    assert "\n" not in line
    assert "\x1b" not in line
    assert len(line) < 200


def test_of_a_long_path_the_end_is_shown() -> None:
    (line,) = denial_lines([denied("Write", file_path=f"/{'deep/' * 50}no.txt")])
    assert line.startswith("denied: Write(…")
    assert line.endswith("/no.txt): no")


def test_of_many_calls_the_others_are_counted() -> None:
    (line,) = denial_lines([denied("Bash", command=str(number)) for number in range(7)])
    assert line.endswith("Bash(4) and 2 more: no")
