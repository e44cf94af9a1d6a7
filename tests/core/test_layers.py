"""Imports go one way: as the table in docs/explanation/architecture.md has it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "holodeck_backend_claude"
PAGE = ROOT / "docs" / "explanation" / "architecture.md"
ROW = re.compile(r"^\| `(\w+)(?:\.py|/)` \| [^|]+ \| ([^|]+) \|$", re.MULTILINE)


def allowed() -> dict[str, set[str]]:
    """``{part: what it may import}`` from the page."""
    rows = ROW.findall(PAGE.read_text(encoding="utf-8"))
    return {name: set() if list_ == "nothing" else set(list_.split(", ")) for name, list_ in rows}


def part_of(path: Path) -> str:
    relative = path.relative_to(PACKAGE).with_suffix("")
    return relative.parts[0]


def runtime_imports(path: Path) -> Iterator[tuple[int, str]]:
    """``(line, part)`` for each import of this package that runs."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    unseen = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and id(node) not in unseen:
            for module in imported_modules(node):
                first, *rest = module.split(".")
                if first == PACKAGE.name and rest:
                    yield node.lineno, rest[0]


def imported_modules(node: ast.AST) -> list[str]:
    """The dotted names that a statement may import."""
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=str(module), names=names, level=0):
            return [f"{module}.{alias.name}" for alias in names]
        case _:
            return []


def test_imports_name_the_whole_way() -> None:
    """A relative import says nothing of the layer that it reaches into."""
    relative = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert relative == []


def test_an_import_is_seen_however_it_is_written() -> None:
    name = PACKAGE.name
    for text in (f"import {name}.cli.main", f"from {name} import cli", f"from {name}.cli import x"):
        modules = [m for node in ast.walk(ast.parse(text)) for m in imported_modules(node)]
        assert [module.split(".")[1] for module in modules] == ["cli"], text


def test_every_part_has_a_row_in_the_table() -> None:
    parts = {part_of(path) for path in PACKAGE.rglob("*.py")} - {"__init__"}
    assert parts == allowed().keys()


def test_no_import_goes_another_way() -> None:
    table = allowed()
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in PACKAGE.rglob("*.py")
        if path != PACKAGE / "__init__.py"
        for line, name in runtime_imports(path)
        if name != part_of(path) and name not in table[part_of(path)]
    ]
    assert wrong == []


def test_the_table_has_no_circles() -> None:
    table = allowed()
    done: set[str] = set()
    while ready := {name for name in table.keys() - done if table[name] <= done}:
        done |= ready
    assert done == table.keys()


def test_nothing_but_the_backends_themselves_may_import_one() -> None:
    assert all(not {"claude", "sk"} & may for may in allowed().values())
