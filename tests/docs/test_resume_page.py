"""The page about resumed conversations: its blocks are valid, and its program does what it says."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import yaml

from holodeck_backend_claude.claude.settings import ClaudeSettings
from holodeck_backend_claude.claude.transcripts.postgres import PostgresStore
from holodeck_backend_claude.testing import ScriptedMessagesAPI, say
from tests.docs.test_pages import DOCS, blocks, environment, run
from tests.support.postgres import PostgresServer

PAGE = DOCS / "how-to" / "resume-conversations.md"


async def test_the_program_of_the_page_goes_on_with_a_conversation_and_forks_it(
    tmp_path: Path,
) -> None:
    agent, block = blocks(PAGE, "yaml")
    (tmp_path / agent[0]).write_text(agent[1])
    settings = ClaudeSettings.model_validate(yaml.safe_load(block[1])["claude"])
    assert settings.sessions is not None
    ((_, code),) = blocks(PAGE, "python")
    (tmp_path / "program.py").write_text(code)
    async with ScriptedMessagesAPI([say("Noted."), say("Five."), say("Ten.")]) as api:
        env = environment(api, tmp_path)
        code_, _, err = await run(f'"{sys.executable}" -W error program.py', tmp_path, env)
    assert code_ == 0, err
    histories = [json.dumps(request.body["messages"]) for request in api.requests]
    assert all("five years" in history for history in histories)
    assert ["How long" in history for history in histories] == [False, True, True]


async def test_the_tables_of_the_page_are_in_the_schema_it_names(postgres: PostgresServer) -> None:
    import psycopg

    page = PAGE.read_text(encoding="utf-8")
    assert "?options=-csearch_path%3Dagents`" in page
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA agents")
    store = PostgresStore(f"{postgres.url}?options=-csearch_path%3Dagents")
    await store.overview("x")
    await store.close()
    with psycopg.connect(postgres.url) as connection:
        found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'agents'")
        tables = {name for (name,) in found}
    assert tables == {name for name in tables if f"`{name}`" in page}
    assert len(tables) == 3
