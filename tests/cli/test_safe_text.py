"""What the commands show of others: no secrets, and nothing that controls a terminal."""

from __future__ import annotations

import logging

import pytest

from holodeck_backend_claude.chat.printable import on_one_line
from holodeck_backend_claude.cli.log import SafeFormatter
from holodeck_backend_claude.contract import PluginError
from holodeck_backend_claude.plugins.importing import cause_of, contained
from holodeck_backend_claude.redaction import remember_secrets


def shown(message: str, *, error: BaseException | None = None) -> str:
    info = (type(error), error, error.__traceback__) if error else None
    record = logging.LogRecord("x", logging.WARNING, "x.py", 1, message, (), info)
    return SafeFormatter("%(levelname)s: %(message)s").format(record)


def test_a_logged_traceback_holds_no_known_secret() -> None:
    key = "sk\u20ac" + "SECRET" + "MARK"
    remember_secrets([key])
    with pytest.raises(UnicodeEncodeError) as caught:
        f"Bearer {key}".encode("ascii")
    error = ValueError(f"illegal header 'Bearer {key}'").with_traceback(caught.value.__traceback__)
    text = shown("the request failed", error=error)
    assert "SECRETMARK" not in text
    assert "Traceback" in text
    assert "[secret]" in text


def test_a_password_in_an_address_is_not_logged() -> None:
    text = shown("POST http://u:SECRETMARK@127.0.0.1:9/v1")
    assert "http://u:[secret]@127.0.0.1:9/v1" in text


def test_a_quoted_name_forges_no_record_and_controls_no_terminal() -> None:
    text = shown("not indexed: a\nWARNING: all is well\x1b[2J")
    assert "\x1b" not in text
    assert [line for line in text.splitlines() if line.startswith("WARNING")] == [
        "WARNING: not indexed: a"
    ]


def test_a_name_stays_on_its_line() -> None:
    assert on_one_line("a\nb\x1b[0m") == "a\ufffdb\ufffd[0m"


@pytest.mark.parametrize("kind", [PluginError, ValueError])
def test_the_cause_of_a_plugin_is_masked_and_cut_with_a_mark(kind: type[Exception]) -> None:
    with pytest.raises(PluginError) as caught, contained("importing it"):
        raise kind("password=SECRETMARK " + "x" * 5_000)
    cause = cause_of(caught.value)
    assert "SECRETMARK" not in cause
    assert len(cause) <= 1_000
    assert "\N{HORIZONTAL ELLIPSIS}" in cause
