"""docs/reference/faults.md and the suite agree."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest

from tests.faults.causes import all_causes
from tests.faults.registry import GROUPS
from tests.faults.table import Report, page_of, written


def test_the_page_says_what_the_suite_expects() -> None:
    assert written() == page_of(all_causes()), "run: make faults-page"


def test_the_order_of_the_page_is_not_that_in_which_tests_were_imported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    in_order = all_causes()
    monkeypatch.setattr("tests.faults.causes.CAUSES", list(reversed(in_order)))
    assert all_causes() == in_order


def test_there_are_enough_causes_of_every_group() -> None:
    causes = all_causes()
    assert len(causes) >= 60
    assert {cause.group for cause in causes} == set(GROUPS)


def test_no_two_causes_read_alike() -> None:
    causes = [(cause.group, cause.what) for cause in all_causes()]
    assert len(set(causes)) == len(causes)


def test_the_table_is_plain_in_a_pipe_and_names_what_went_wrong() -> None:
    record = {"group": "api", "what": "an error", "expected": {"400": "a", "401": "b"}}
    out = io.StringIO()
    report = Report(out)
    for got, passed in (({"400": "a", "401": "b"}, True), ({"400": "a", "401": "c"}, False)):
        said = {**record, "got": got, "left": "nothing"}
        report.pytest_runtest_logreport(
            SimpleNamespace(
                when="call", passed=passed, skipped=False, user_properties=[("fault", said)]
            )
        )
    report.show()
    text = out.getvalue()
    assert "\x1b" not in text
    assert "FAIL" in text
    assert "401: c" in text
    assert "2 causes with 4 values, 1 not as expected" in text
