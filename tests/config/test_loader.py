"""From agent.yaml to an Agent: what is read, by whom, and from where."""

from __future__ import annotations

import dataclasses
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holodeck_backend_claude.config import (
    AgentFileError,
    PluginsConfig,
    VectorstoreTool,
    load_agent,
    read_plugins_block,
)
from holodeck_backend_claude.config.yaml.source import read_source

FULL = """\
name: helper
description: Helps.
backend: echo
model: {provider: acme, name: large, temperature: 0.5, max_tokens: 100, top_p: 1,
        endpoint: "http://127.0.0.1:1", api_key: sk-key, api_version: 2024-10-21}
instructions:
  file: prompt.md
embedding_provider: {provider: openai, name: small, dimensions: 256}
execution: {llm_timeout: 5, max_retries: 1}
plugins: {allow: [parrot-tools], block: []}
echo: {volume: 11}
tools:
  - type: vectorstore
    name: kb
    description: Knowledge.
    source: docs
    top_k: 3
  - type: parrot
    name: polly
    description: Speaks.
    colour: red
    words: [hello]
    login: {user: me, code: 1234abcd}
"""


def test_every_block_is_read_by_the_model_that_knows_it(bench: Any) -> None:
    bench.write("prompt.md", "\ufeffBe kind.\n")
    bench.write("docs/a.md", "text")
    file = bench.read(FULL)
    agent = file.agent
    assert (agent.name, agent.description, agent.backend) == ("helper", "Helps.", "echo")
    assert agent.model.api_version == "2024-10-21"
    assert agent.model.api_key.get_secret_value() == "sk-key"
    assert agent.system_prompt() == "Be kind."
    assert agent.embedding_provider.dimensions == 256
    assert (agent.execution.llm_timeout, agent.execution.max_retries) == (5.0, 1)
    assert agent.plugins.allow == ("parrot-tools",)
    assert agent.settings["echo"].volume == 11
    assert isinstance(agent.tools[0], VectorstoreTool)
    assert (agent.tools[0].top_k, agent.tools[0].source) == (3, "docs")
    assert agent.tools[1].colour == "red"
    assert agent.tools[1].login.code.get_secret_value() == "1234abcd"
    assert agent.base_dir == bench.folder.resolve()
    assert file.notices == ()


def test_the_least_a_file_needs_is_name_model_and_instructions(bench: Any, good: str) -> None:
    agent = bench.read(good).agent
    assert agent.system_prompt() == "Be kind."
    assert agent.tools == ()
    assert agent.settings == {}


def test_keys_without_a_value_count_as_left_out(bench: Any, good: str) -> None:
    agent = bench.read(f"{good}tools:\nexecution:\necho:\nplugins:\ndescription:\n").agent
    assert agent.tools == ()
    assert agent.execution.llm_timeout == 120


def test_a_folder_is_read_through_its_agent_file(bench: Any, good: str, registry: Any) -> None:
    bench.write("agent.yaml", good)
    assert load_agent(bench.folder, registry).name == "helper"
    assert load_agent(str(bench.folder), registry).name == "helper"


def test_a_source_that_was_read_already_is_not_read_again(
    bench: Any, good: str, registry: Any
) -> None:
    source = read_source(bench.write("agent.yaml", good + "deployment: {}\n"))
    (bench.folder / "agent.yaml").unlink()
    assert read_plugins_block(source) == PluginsConfig()
    assert load_agent(source, registry).name == "helper"


def test_relative_paths_start_from_the_folder_of_the_file(
    bench: Any, registry: Any, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: Any
) -> None:
    bench.write("prompt.md", "Be kind.")
    bench.write("docs/a.md", "text")
    bench.write("agent.yaml", FULL)
    monkeypatch.chdir(bench.folder.parent)
    relative = Path(bench.folder.name) / "agent.yaml"
    agent = load_agent(relative, registry)
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert agent.system_prompt() == "Be kind."


class TestVariables:
    TEXT = (
        "name: ${NAME}\nmodel: {provider: acme, name: x, api_key: '${KEY}', max_tokens: '${MAX}'}\n"
        "instructions: Be ${MOOD:-kind}.\n"
    )

    def test_fill_texts_and_become_the_type_of_their_field(self, bench: Any) -> None:
        agent = bench.read(self.TEXT, NAME="n", KEY="sk-1", MAX="12").agent
        assert agent.name == "n"
        assert agent.model.api_key.get_secret_value() == "sk-1"
        assert agent.model.max_tokens == 12
        assert agent.instructions.inline == "Be kind."

    def test_come_from_dotenv_too_but_the_environment_wins(self, bench: Any) -> None:
        bench.write(".env", "NAME=from-file\nKEY='sk-file'\nMAX=3\n")
        before = dict(os.environ)
        agent = bench.read(self.TEXT, NAME="from-environment").agent
        assert agent.name == "from-environment"
        assert agent.model.api_key.get_secret_value() == "sk-file"
        assert dict(os.environ) == before

    def test_of_dotenv_are_there_for_the_backend(
        self, bench: Any, good: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        bench.write(".env", "ACME_KEY=sk-file\nOTHER=from-file\n")
        monkeypatch.setenv("OTHER", "from-environment")
        agent = bench.read(good).agent
        assert agent.environment()["ACME_KEY"] == "sk-file"
        assert agent.environment()["OTHER"] == "from-environment"
        assert "sk-file" not in repr(agent)
        assert "sk-file" not in str(agent.model_dump())

    def test_that_are_not_set_are_all_named_with_their_lines(self, bench: Any) -> None:
        bench.write(".env", "MAX=1\n")
        problems = bench.problems(self.TEXT)
        assert [(p.line, p.path) for p in problems] == [(1, "name"), (2, "model.api_key")]
        assert "the environment or the .env file: NAME" in problems[0].message
        assert problems[0].hint
        assert "${NAME:-default}" in problems[0].hint

    def test_of_the_wrong_type_are_shown_by_name_and_not_by_value(self, bench: Any) -> None:
        problem = bench.problem(self.TEXT, NAME="n", KEY="k", MAX="sk-ant-oops")
        assert problem.path == "model.max_tokens"
        assert "${MAX}" in problem.message
        assert "sk-ant" not in str(problem)

    def test_of_blocks_for_other_programs_need_not_be_set(self, bench: Any, good: str) -> None:
        assert bench.read(good + "deployment: {token: '${UNSET}'}\n").agent

    def test_a_bad_line_of_dotenv_is_a_notice(self, bench: Any, good: str) -> None:
        bench.write(".env", "good=1\nsk-secret\n")
        (notice,) = bench.read(good).notices
        assert notice.file.endswith(".env")
        assert notice.line == 2


class TestNotices:
    def test_blocks_for_other_programs_are_accepted_and_named(self, bench: Any, good: str) -> None:
        notices = bench.read(good + "openai: {x: 1}\noptimizer:\ndeployment: {}\n").notices
        assert [n.path for n in notices] == ["openai", "optimizer", "deployment"]
        assert all("nothing here reads it" in n.message for n in notices)

    def test_a_block_of_a_backend_that_does_not_run_the_agent_is_named(
        self, bench: Any, good: str
    ) -> None:
        text = good.replace("acme", "zeta") + "echo: {volume: 2}\n"
        (notice,) = bench.read(text).notices
        assert notice.path == "echo"
        assert "'other'" in notice.message

    def test_documents_out_of_the_folder_are_allowed_and_named(
        self, bench: Any, tools: Any
    ) -> None:
        outside = bench.folder.parent / "outside"
        outside.mkdir()
        lines = "  - {type: vectorstore, name: kb, description: d, source: ../outside}\n"
        (notice,) = bench.read(tools(lines)).notices
        assert (notice.path, notice.line) == ("tools[0].source", 7)
        assert "outside the agent's folder" in notice.message

    def test_are_logged_by_load_agent(
        self, bench: Any, good: str, registry: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.WARNING):
            load_agent(bench.write("agent.yaml", good + "deployment: {}\n"), registry)
        assert "deployment" in caplog.text


class TestPluginsBlock:
    def test_is_read_before_any_plugin_is_known(self, bench: Any) -> None:
        text = "plugins: {block: [evil]}\nname: 5\nwhatever: ${UNSET}\ntools: [{type: nope}]\n"
        assert read_plugins_block(bench.write("agent.yaml", text)).block == ("evil",)

    def test_is_optional(self, bench: Any, good: str) -> None:
        assert read_plugins_block(bench.write("agent.yaml", good)) == PluginsConfig()

    @pytest.mark.parametrize(
        "text",
        ["plugins: {block: evil}\n", "plugins: {blok: [a]}\n", "plugins: [a]\n", "a: b: c\n"],
    )
    def test_is_an_error_where_it_cannot_be_understood(self, bench: Any, text: str) -> None:
        with pytest.raises(AgentFileError):
            read_plugins_block(bench.write("agent.yaml", text))


def test_a_tool_that_is_open_already_needs_no_source(bench: Any, tools: Any) -> None:
    bench.registry = bench.registry.with_instances({"kb": object()})
    lines = "  - {type: vectorstore, name: kb, description: d, source: not-there}\n"
    assert bench.read(tools(lines)).agent.tools[0].name == "kb"


def test_a_broken_backend_block_that_is_not_used_harms_nothing(bench: Any, good: str) -> None:
    broken = bench.registry.backends["other"]
    bench.registry.backends["other"] = dataclasses.replace(
        broken,
        value=dataclasses.replace(
            broken.value, settings_key="other", settings="no.such.module:Settings"
        ),
    )
    assert bench.read(good).agent
    problem = bench.problem(good + "other: {x: 1}\n")
    assert "no.such.module" in problem.message
    assert problem.hint
    assert "parrot-tools 1.2" in problem.hint


def test_loading_imports_neither_sdk_nor_semantic_kernel(bench: Any, good: str) -> None:
    path = bench.write("agent.yaml", good)
    code = (
        "import sys; from holodeck_backend_claude.config import read_agent, AgentFileError\n"
        "from holodeck_backend_claude.registry import Registry\n"
        "try: read_agent(sys.argv[1], Registry())\n"
        "except AgentFileError: pass\n"
        "print([m for m in sys.modules if m.split('.')[0] in ('claude_agent_sdk', "
        "'semantic_kernel', 'mcp', 'numpy', 'aiohttp')])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"
