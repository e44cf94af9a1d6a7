"""Import strings: what they may name, and what is said when they name nothing."""

from __future__ import annotations

import collections
import sys
from pathlib import Path

import pytest

from holodeck_backend_claude.contract import PluginError
from holodeck_backend_claude.import_strings import is_import_string, resolve


def test_an_import_string_gives_what_it_names() -> None:
    assert resolve("collections:OrderedDict") is collections.OrderedDict


def test_an_attribute_of_an_attribute_can_be_named() -> None:
    assert resolve("collections:OrderedDict.fromkeys")("a") == {"a": None}


@pytest.mark.parametrize("value", [len, collections.OrderedDict, None, 3])
def test_anything_but_a_string_comes_back_as_it_is(value: object) -> None:
    assert resolve(value) is value


@pytest.mark.parametrize(
    "text", ["", "collections", ":x", "collections:", "a b:c", "a:b:c", "a/b:c", ".a:b", "1a:b"]
)
def test_a_malformed_string_is_refused_with_the_right_form(text: str) -> None:
    assert not is_import_string(text)
    with pytest.raises(PluginError, match=r"write it as 'package\.module:attribute'"):
        resolve(text)


def test_a_missing_module_or_attribute_is_named() -> None:
    with pytest.raises(PluginError, match="no_such_module_here"):
        resolve("no_such_module_here:x")
    with pytest.raises(PluginError, match="no_such_name"):
        resolve("collections:no_such_name")


@pytest.mark.parametrize("code", ["raise SystemExit(1)", "raise RuntimeError('x')", "def ("])
def test_a_module_that_fails_on_import_does_not_take_the_program_down(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fails_on_import.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))

    with pytest.raises(PluginError, match="cannot load 'fails_on_import:x'"):
        resolve("fails_on_import:x")
    assert "fails_on_import" not in sys.modules
