"""docs/how-to/observability.md says what is sent, and its examples work."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from holodeck_backend_claude.config import ObservabilityConfig
from holodeck_backend_claude.tracing import names

PAGE = (Path(__file__).parents[2] / "docs/how-to/observability.md").read_text(encoding="utf-8")


def test_the_table_has_every_attribute_and_no_other() -> None:
    written = {
        value
        for name, value in vars(names).items()
        if name.isupper() and isinstance(value, str) and "." in value
    }
    of_metrics = {names.TOKEN_TYPE, names.TOKEN_USAGE, names.OPERATION_DURATION}
    table = set(re.findall(r"^\| [^|]+ \| `([^`]+)` \|", PAGE, re.MULTILINE))
    assert table == written - of_metrics
    assert all(f"`{name}`" in PAGE for name in (names.TOKEN_USAGE, names.OPERATION_DURATION))


@pytest.mark.parametrize("block", re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
def test_every_example_is_a_valid_block(block: str) -> None:
    assert ObservabilityConfig(**yaml.safe_load(block)["observability"]).enabled


def test_the_program_prints_what_it_should(capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(program, "observability.md", "exec"), {})
    assert capsys.readouterr().out == "http://localhost:4318\n"
