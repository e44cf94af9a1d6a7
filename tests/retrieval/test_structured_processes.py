"""Processes that are killed, or search, while definitions, references and records are written."""

from __future__ import annotations

import json
import signal
import time

import pytest

from holodeck_backend_claude.retrieval import Index, IndexReport

from .lab import Lab
from .worker import KINDS, Embedder
from .workers import Start, assert_sound, let_go, wait_for

FILES = 60
State = set[tuple[object, ...]]

TEXTS = {
    "law": '# Act {n}\n\n§ 1 Terms\n"Fee{n}" means {version} dollars.\n'
    "§ 2 Duty\nFee{n} is due, see § 1.\n",
    "records": '[{{"id": "R{n}", "text": "Record {n}, {version}.", "price": "{version} dollars"}}]',
}
ENDINGS = {"law": "md", "records": "json"}


def write_version(lab: Lab, kind: str, version: str) -> None:
    for number in range(FILES):
        text = TEXTS[kind].format(n=number, version=version)
        lab.write(f"{number:03}.{ENDINGS[kind]}", text)


async def update(lab: Lab, kind: str) -> IndexReport:
    index = Index(
        lab.database,
        source="docs",
        base_dir=lab.base,
        settings=KINDS[kind],
        embedder=Embedder(),
        progress=lambda _label, _done, _total: None,
    )
    return await index.update()


def state(lab: Lab) -> State:
    """Everything that is stored of documents."""
    chunks = lab.rows(
        "SELECT f.path, c.content, c.parent_chain, c.section_id, c.kind, c.subsection_ids,"
        " c.refers_to, c.record_id, c.metadata FROM chunks c JOIN files f ON f.id = c.file_id"
    )
    defined = lab.rows(
        "SELECT f.path, d.term, d.words, d.text FROM definitions d JOIN files f ON f.id = d.file_id"
    )
    return {*chunks, *defined}


@pytest.mark.parametrize("kind", ["law", "records"])
@pytest.mark.parametrize("moment", ["reading 30 ", "reading 60 ", "embedded"])
async def test_a_killed_process_leaves_all_of_the_old_or_all_of_the_new(
    moment: str, kind: str, lab: Lab, start: Start
) -> None:
    write_version(lab, kind, "one")
    await update(lab, kind)
    old = state(lab)
    lab.database.close()
    write_version(lab, kind, "two")

    process = start(1, kind)
    wait_for(process, moment)
    process.send_signal(signal.SIGKILL)
    process.wait()

    lab.database.open()
    left = state(lab)
    assert_sound(lab)
    report = await update(lab, kind)
    new = state(lab)
    assert left in (old, new)
    assert old != new
    assert "two dollars" in json.dumps(sorted(map(str, new)))
    assert "one dollars" not in json.dumps(sorted(map(str, new)))
    assert report.embedded == report.chunks
    assert_sound(lab)


@pytest.mark.parametrize("kind", ["law", "records"])
async def test_several_processes_at_once_end_in_the_state_of_one_alone(
    kind: str, lab: Lab, start: Start
) -> None:
    write_version(lab, kind, "one")
    processes = [start(kind=kind) for _ in range(2)]
    for process in processes:
        wait_for(process, "done")
        assert process.wait() == 0
    lab.database.open()
    together = state(lab)
    lab.database.set_aside()
    await update(lab, kind)
    assert together == state(lab)


async def test_a_search_while_another_process_rebuilds_tells_of_one_version(
    lab: Lab, start: Start
) -> None:
    write_version(lab, "law", "one")
    await update(lab, "law")
    write_version(lab, "law", "two")
    process = start(0, "law")
    wait_for(process, "reading 30 ")
    seen = set()
    until = time.monotonic() + 60
    while "two dollars." not in seen and time.monotonic() < until:
        results = await lab.search("fee7 is due", Embedder())
        due = next(result for result in results if result.content.startswith("§ 2"))
        told = dict(due.definitions_context)
        number = due.source_path.removesuffix(".md").lstrip("0") or "0"
        version = told[f"Fee{number}"]
        assert version in ("one dollars.", "two dollars.")
        assert version in told["§ 1"]
        seen.add(version)
    assert "two dollars." in seen
    let_go(process)
    wait_for(process, "done")
