"""The README and the pages do what they say: commands run, snippets run, links lead somewhere."""

from __future__ import annotations

import ast
import asyncio
import inspect
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from holodeck_backend_claude.testing import ScriptedMessagesAPI, forever, offline_model

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
HANDBOOK = DOCS / "examples" / "handbook"
README = ROOT / "README.md"
PAGES = [README, *sorted(DOCS.rglob("*.md"))]
WITH_COMMANDS = [README, DOCS / "tutorial" / "first-agent.md"]
WITH_PYTHON = [
    README,
    DOCS / "reference" / "python.md",
    DOCS / "how-to" / "files.md",
    DOCS / "how-to" / "grant-tools.md",
]


def blocks(page: Path, language: str) -> list[tuple[str, str]]:
    """``(title, text)`` of every fenced block of this language."""
    pattern = rf'^```{language}(?: title="([^"]+)")?\n(.*?)^```$'
    found = re.findall(pattern, page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [(title, text) for title, text in found]


def page_id(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def environment(api: ScriptedMessagesAPI, folder: Path) -> dict[str, str]:
    """As a user has it, with the scripted API in the place of Anthropic's."""
    bin_folder = str(Path(sys.executable).parent)
    path = f"{bin_folder}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "HOME": str(folder), "LANG": "C.UTF-8", **api.env()}


async def run(command: str, folder: Path, env: dict[str, str]) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_shell(
        command,
        cwd=folder,
        env=env,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=page_id)
async def test_every_command_of_a_page_works_in_the_order_of_the_page(
    page: Path, tmp_path: Path
) -> None:
    shutil.copytree(HANDBOOK / "documents", tmp_path / "documents")
    if page != README:
        shutil.rmtree(tmp_path / "documents")
    for title, text in blocks(page, "yaml"):
        (tmp_path / title).write_text(text, encoding="utf-8")
    lines = [line for _, text in blocks(page, "console") for line in text.splitlines()]
    commands = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    assert len(commands) >= 5
    async with ScriptedMessagesAPI(forever(offline_model)) as api:
        env = environment(api, tmp_path)
        for command in commands:
            if command.startswith("export "):
                continue  # the key is in the environment already
            code, _, err = await run(command, tmp_path, env)
            assert code == 0, f"{command}\n{err}"


async def test_the_readme_shows_what_make_demo_prints(tmp_path: Path) -> None:
    shutil.copytree(HANDBOOK, tmp_path / "handbook", ignore=shutil.ignore_patterns(".holodeck"))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    [question] = re.findall(r"^QUESTION \?= (.+)$", makefile, re.MULTILINE)
    [(_, shown)] = blocks(README, "text")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    program = Path(sys.executable).with_name("holodeck-claude")
    command = f'"{program}" run handbook/agent.yaml "{question}" --offline'
    code, out, err = await run(command, tmp_path, env)
    assert code == 0, err
    assert shown == out


@pytest.mark.parametrize("page", WITH_PYTHON, ids=page_id)
async def test_every_python_snippet_runs(page: Path, tmp_path: Path) -> None:
    shutil.copytree(HANDBOOK, tmp_path, dirs_exist_ok=True)
    snippets = [text for _, text in blocks(page, "python")]
    assert snippets
    async with ScriptedMessagesAPI(forever(offline_model)) as api:
        for number, snippet in enumerate(snippets):
            code = compile(snippet, page_id(page), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            awaits = bool(code.co_flags & inspect.CO_COROUTINE)
            program = snippet
            if awaits:
                body = "\n".join(f"    {line}" for line in snippet.splitlines())
                program = f"import asyncio\nasync def main():\n{body}\nasyncio.run(main())\n"
            path = tmp_path / f"snippet_{number}.py"
            path.write_text(program, encoding="utf-8")
            env = environment(api, tmp_path)
            code_, _, err = await run(f'"{sys.executable}" -W error {path}', tmp_path, env)
            assert code_ == 0, f"{snippet}\n{err}"


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_every_link_leads_to_a_page(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_every_page_is_in_the_index() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    for page in DOCS.rglob("*.md"):
        if page.name != "index.md" and "examples" not in page.parts:
            assert page.relative_to(DOCS).as_posix() in index
