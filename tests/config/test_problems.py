"""What is said about a wrong agent file: where, what, and what to do, all at once."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from pydantic import field_validator

from holodeck_backend_claude.config import AgentFileError, Problem, read_agent
from holodeck_backend_claude.config.problems import Findings, Mark, format_path
from holodeck_backend_claude.contract import ConfigError, HoloDeckError
from holodeck_backend_claude.plugins import load_plugins
from holodeck_backend_claude.registry import Absent, Origin, Registry


def configured(registry: Registry, tag: str, config: Any) -> None:
    """Give a tool type another config class."""
    provided = registry.tool_types[tag]
    registry.tool_types[tag] = replace(provided, value=replace(provided.value, config=config))


POLLY = "  - type: parrot\n    name: polly\n    description: d\n"


class TestForm:
    PROBLEM = Problem("agent.yaml", 7, 3, "tools[0].type", "unknown tool type 'x'", "known: y")

    def test_of_a_problem_is_place_path_message_and_hint(self) -> None:
        expected = "agent.yaml:7:3  tools[0].type: unknown tool type 'x'\n    known: y"
        assert str(self.PROBLEM) == expected

    def test_of_a_whole_file_has_no_place(self) -> None:
        assert str(Problem("a.yaml", None, None, "", "is empty")) == "a.yaml  is empty"

    def test_as_data_has_all_fields(self) -> None:
        assert self.PROBLEM.to_dict() == {
            "file": "agent.yaml",
            "line": 7,
            "column": 3,
            "path": "tools[0].type",
            "message": "unknown tool type 'x'",
            "hint": "known: y",
        }

    def test_of_the_error_lists_the_problems_in_the_order_of_the_file(self) -> None:
        findings = Findings("a.yaml")
        findings.error(Mark(9, 1), ("b",), "second")
        findings.error(Mark(2, 1), ("a",), "first")
        with pytest.raises(AgentFileError) as caught:
            findings.raise_errors()
        assert [p.message for p in caught.value.problems] == ["first", "second"]
        assert str(caught.value).startswith("the agent file has 2 problems:\na.yaml:2:1  a: first")
        assert isinstance(caught.value, ConfigError)
        assert isinstance(caught.value, HoloDeckError)

    @pytest.mark.parametrize(
        ("path", "text"),
        [
            ((), ""),
            (("a",), "a"),
            (("a", 0, "b-c", "d_e"), "a[0].b-c.d_e"),
            (("a", "with space"), "a['with space']"),
        ],
    )
    def test_of_a_path(self, path: Any, text: str) -> None:
        assert format_path(path) == text


class TestKeys:
    @pytest.mark.parametrize(
        ("line", "path", "guess"),
        [
            ("descripton: x", "descripton", "description"),
            ("ecko: {}", "ecko", "echo"),
            ("echo: {volum: 2}", "echo.volum", "volume"),
            ("execution: {llm_timeot: 2}", "execution.llm_timeot", "llm_timeout"),
        ],
    )
    def test_that_are_unknown_get_a_suggestion(
        self, bench: Any, good: str, line: str, path: str, guess: str
    ) -> None:
        problem = bench.problem(f"{good}{line}\n")
        assert problem.path == path
        assert problem.line == 6
        assert (
            problem.message == f"unknown key {path.rpartition('.')[2]!r}; did you mean {guess!r}?"
        )
        assert guess in problem.hint

    def test_that_are_unknown_in_a_tool_get_a_suggestion(self, bench: Any, tools: Any) -> None:
        problem = bench.problems(tools(POLLY + "    color: red\n    login: {user: x, cod: y}\n"))
        assert [(p.path, p.line, p.column) for p in problem] == [
            ("tools[0].color", 10, 5),
            ("tools[0].login.cod", 11, 22),
        ]
        assert "'colour'" in problem[0].message
        assert "'code'" in problem[1].message

    def test_that_are_fields_of_the_agent_but_not_of_the_file_are_unknown(
        self, bench: Any, good: str
    ) -> None:
        problems = bench.problems(good + "settings: {}\nbase_dir: /\ndotenv: {}\n")
        assert [p.path for p in problems] == ["settings", "base_dir", "dotenv"]

    @pytest.mark.parametrize(
        "line",
        [
            "evaluations: {metrics: []}",
            "test_cases: []",
            "test_cases_file: x",
            "tool_filtering: {}",
            "execution: {cache_dir: x}",
            "tools: [{type: vectorstore, name: a, description: b, source: ., defer_loading: true}]",
        ],
    )
    def test_of_the_published_schema_that_this_version_lacks_are_refused_as_such(
        self, bench: Any, good: str, line: str
    ) -> None:
        problem = bench.problem(f"{good}{line}\n")
        assert "this version does not have the key" in problem.message
        assert "remove it" in problem.hint

    def test_that_are_missing_are_named_where_they_belong(self, bench: Any) -> None:
        problems = bench.problems("description: x\nmodel:\n  provider: acme\n")
        assert [(p.path, p.message, p.line) for p in problems] == [
            ("name", "the key 'name' is missing", 1),
            ("instructions", "the key 'instructions' is missing", 1),
            ("model.name", "the key 'name' is missing", 2),
        ]

    def test_of_an_absent_backend_name_the_plugin(self, bench: Any, good: str) -> None:
        problem = bench.problem(good + "nasa: {x: 1}\n")
        assert "the plugin 'acme' of acme-plugin 3.0 is blocked by agent.yaml" in problem.message
        assert "holodeck-claude plugins" in problem.hint

    def test_of_our_own_backends_name_the_plugin_where_it_is_blocked(
        self, bench: Any, good: str
    ) -> None:
        bench.registry = load_plugins(block=["claude"]).registry
        problem = bench.problem(good.replace("acme", "openai") + "claude: {max_turns: 1}\n")
        assert "the plugin 'claude' of holodeck-backend-claude" in problem.message
        assert "is blocked by" in problem.message
        assert "holodeck-claude plugins" in problem.hint


class TestValues:
    @pytest.mark.parametrize(
        ("line", "path", "message"),
        [
            (
                "execution: {llm_timeout: soon}",
                "execution.llm_timeout",
                "must be a number, not 'soon'",
            ),
            (
                "execution: {llm_timeout: 0}",
                "execution.llm_timeout",
                "must be greater than 0, not 0",
            ),
            ("execution: {max_retries: 11}", "execution.max_retries", "must be at most 10, not 11"),
            (
                "execution: {max_retries: 1.5}",
                "execution.max_retries",
                "must be a whole number, not 1.5",
            ),
            ("execution: [1]", "execution", "must be a mapping, not a list"),
            ("execution: fast", "execution", "must be a mapping, not 'fast'"),
            ("description: 5", "description", "must be text, not 5"),
            ("description: [a]", "description", "must be text, not a list"),
            (
                "description: no",
                "description",
                "must be text, not no (in YAML that is true or false)",
            ),
            ("echo: {volume: loud}", "echo.volume", "must be a whole number, not 'loud'"),
            ("plugins: {block: evil}", "plugins.block", "must be a list, not 'evil'"),
            (
                "plugins: {block: ['']}",
                "plugins.block[0]",
                "must be text that is not blank, not ''",
            ),
            ("backend: ' '", "backend", "must be text that is not blank, not ' '"),
            ("tools: {a: 1}", "tools", "must be a list of tools, not a mapping"),
            ("tools: [text]", "tools[0]", "a tool is a mapping, not text"),
            ("tools: [{name: x}]", "tools[0].type", "the key 'type' is missing"),
            ("tools: [{type: 5}]", "tools[0].type", "must be text, not a number"),
        ],
    )
    def test_that_are_wrong_are_shown_with_what_is_expected(
        self, bench: Any, good: str, line: str, path: str, message: str
    ) -> None:
        problems = bench.problems(f"{good}{line}\n")
        assert (problems[0].path, problems[0].message) == (path, message)

    @pytest.mark.parametrize(
        ("lines", "path", "message"),
        [
            (
                "    colour: gren\n",
                "colour",
                "must be 'green' or 'red', not 'gren'; did you mean 'green'?",
            ),
            ("    words: [a, b, c, d]\n", "words", "must be a list of at most 3 items"),
            ("    words: [a, 5]\n", "words[1]", "must be text, not 5"),
            ("    words: [cat]\n", "words", "a parrot does not say 'cat'"),
            ("    login: {}\n", "login.user", "the key 'user' is missing"),
            ("    logins: {a: {user: [x]}}\n", "logins.a.user", "must be text, not a list"),
            (
                "    feathers: []\n",
                "feathers",
                "must be a whole number, not a list; or must be text, not a list",
            ),
            ("    timeout: 90000\n", "timeout", "must be at most 86400, not 90000"),
        ],
    )
    def test_of_a_plugins_tool_are_told_the_same_way(
        self, bench: Any, tools: Any, lines: str, path: str, message: str
    ) -> None:
        problem = bench.problem(tools(POLLY + lines))
        assert problem.path == f"tools[0].{path}"
        assert problem.message.startswith(message)
        assert problem.line == 10

    def test_that_a_plugins_code_stumbles_over_name_the_plugin(
        self, bench: Any, tools: Any
    ) -> None:
        problem = bench.problem(tools(POLLY + "    words: [crash]\n"))
        assert "RuntimeError: out of seeds" in problem.message
        assert "parrot-tools 1.2" in problem.hint

    @pytest.mark.parametrize("block", ["{}", "{inline: a, file: b}", "{inline: ' '}"])
    def test_instructions_are_exactly_one_text(self, bench: Any, good: str, block: str) -> None:
        problems = bench.problems(good.replace("Be kind.", block))
        assert all(p.path.startswith("instructions") for p in problems)


class TestPaths:
    @pytest.mark.parametrize(
        ("path", "message"),
        [
            ("missing.md", "there is no file 'missing.md'"),
            (".", "'.' is not a file"),
            ("empty.md", "'empty.md' is empty"),
            ("latin.md", "'latin.md' is not UTF-8 text"),
            ("link.md", "'link.md' is outside the agent's folder"),
            ("../out.md", "'../out.md' is outside the agent's folder"),
            ('"a\\0b"', "'a\\x00b' cannot be looked up"),
        ],
    )
    def test_of_instructions_lead_to_a_text_in_the_folder(
        self, bench: Any, good: str, path: str, message: str
    ) -> None:
        bench.write("empty.md", " \n")
        (bench.folder / "latin.md").write_bytes("schön".encode("latin-1"))
        (bench.folder.parent / "out.md").write_text("secret")
        (bench.folder / "link.md").symlink_to(bench.folder.parent / "out.md")
        problem = bench.problem(good.replace("Be kind.", f"{{file: {path}}}"))
        assert (problem.path, problem.line) == ("instructions.file", 5)
        assert problem.message.startswith(message)

    def test_of_a_tool_are_checked(self, bench: Any, tools: Any) -> None:
        lines = "  - {type: vectorstore, name: kb, description: d, source: nowhere}\n"
        problem = bench.problem(tools(lines + POLLY))
        assert problem.message == "there is no file or folder 'nowhere'"
        assert str(bench.folder) in problem.hint

    def test_of_a_plugins_tool_are_checked(self, bench: Any, tools: Any) -> None:
        problem = bench.problem(tools(POLLY + "    song: la.mp3\n"))
        assert (problem.path, problem.message) == ("tools[0].song", "there is no file 'la.mp3'")

    def test_are_checked_where_other_values_are_wrong(self, bench: Any, good: str) -> None:
        text = good.replace("Be kind.", "{file: gone.md}").replace("name: helper", "nam: helper")
        assert {p.path for p in bench.problems(text)} == {"name", "nam", "instructions.file"}


class TestTools:
    def test_of_unknown_type_list_the_known_ones_and_name_plugins(
        self, bench: Any, tools: Any
    ) -> None:
        problem = bench.problem(tools("  - {type: vectorstor, name: kb}\n"))
        assert (problem.path, problem.line, problem.column) == ("tools[0].type", 7, 12)
        assert problem.message == "unknown tool type 'vectorstor'; did you mean 'vectorstore'?"
        assert "broken, parrot, vectorstore" in problem.hint
        assert "a plugin may provide more" in problem.hint
        assert "holodeck-claude plugins" in problem.hint

    def test_of_a_blocked_plugin_name_it(self, bench: Any, tools: Any) -> None:
        problem = bench.problem(tools("  - {type: rocket, name: kb}\n"))
        assert "acme-plugin 3.0 is blocked by agent.yaml" in problem.message

    def test_of_a_later_version_are_named_as_such(self, bench: Any, tools: Any) -> None:
        problem = bench.problem(tools("  - {type: mcp, name: kb}\n"))
        assert problem.message == "this version does not have the tool type 'mcp'"

    def test_of_a_broken_plugin_name_it(self, bench: Any, tools: Any) -> None:
        problem = bench.problem(tools("  - {type: broken, name: kb}\n"))
        assert "no.such.module" in problem.message
        assert "parrot-tools 1.2" in problem.hint

    def test_with_a_config_that_is_no_tool_config_name_the_plugin(
        self, bench: Any, tools: Any
    ) -> None:
        configured(bench.registry, "broken", "collections:OrderedDict")
        problem = bench.problem(tools("  - {type: broken, name: kb}\n"))
        assert "OrderedDict" in problem.message
        assert "not a subclass" in problem.message
        assert "parrot-tools 1.2" in problem.hint

    def test_with_one_name_are_an_error_that_names_both_lines(self, bench: Any, tools: Any) -> None:
        problem = bench.problem(tools(POLLY + POLLY))
        assert (problem.path, problem.line) == ("tools[1].name", 11)
        assert "line 8" in problem.message


class TestBackends:
    def test_an_unknown_provider_lists_the_known_ones(self, bench: Any, good: str) -> None:
        problem = bench.problem(good.replace("acme", "acne"))
        assert (problem.path, problem.line, problem.column) == ("model.provider", 3, 13)
        assert problem.message == "unknown provider 'acne'; did you mean 'acme'?"
        assert "known: acme, zeta" in problem.hint

    def test_a_provider_of_a_blocked_plugin_names_it(self, bench: Any, good: str) -> None:
        assert "acme-plugin" in bench.problem(good.replace("acme", "nasa")).message

    def test_an_unknown_backend_lists_the_known_ones(self, bench: Any, good: str) -> None:
        problem = bench.problem(good + "backend: ecko\n")
        assert (problem.path, problem.line) == ("backend", 6)
        assert "echo, other" in problem.hint

    def test_a_named_backend_takes_any_provider(self, bench: Any, good: str) -> None:
        text = good.replace("acme", "anything") + "backend: echo\n"
        assert bench.read(text).agent.model.provider == "anything"


@pytest.mark.parametrize(
    "line",
    ["tools: [{type: rocket2, name: kb, description: d}]", "backend: ecko", "ecko: {}"],
)
def test_a_left_out_plugin_that_was_never_read_is_told_once(
    bench: Any, good: str, line: str
) -> None:
    bench.registry.absent = (Absent(Origin("acme", "acme-plugin", "3.0"), "failed", "no module x"),)
    problem = bench.problem(f"{good}{line}\n")
    assert str(problem).count("the plugin 'acme' of acme-plugin 3.0 failed: no module x") == 1


SECRET = "sk-ant-api03-0123456789"


class TestSecrets:
    @pytest.mark.parametrize(
        "block",
        [
            f"model: {{provider: acme, nam: x, api_key: {SECRET}}}",
            f"model: {{provider: acme, name: x, api_key: [{SECRET}]}}",
            f"model: {{provider: acme, name: x, api_key: {{value: {SECRET}}}}}",
            f"model: {{provider: acme, name: x, api_kye: {SECRET}}}",
            f"model: [{SECRET}]",
            f"model: {{provider: acme, name: x, api_key: !!int {SECRET}}}",
            f"model: {{provider: acme, name: x, api_key: !secret {SECRET}}}",
            f"model: {{provider: acme, name: x}}\necho: {{token: [{SECRET}], volume: x}}",
            f"model: {{provider: acme, name: x}}\necho: {{volume: 1, token: {{a: {SECRET}}}}}",
        ],
    )
    def test_never_appear(self, bench: Any, block: str) -> None:
        problems = bench.problems(f"name: x\ninstructions: x\n{block}\n")
        assert SECRET not in "\n".join(str(problem) for problem in problems)

    def test_never_appear_in_what_a_plugins_validator_says(self, bench: Any, tools: Any) -> None:
        parrot = bench.registry.tool_types["parrot"].value.config

        class Talkative(parrot):  # type: ignore[misc, valid-type]
            @field_validator("login", mode="before")
            @classmethod
            def _tell(cls, value: Any) -> Any:
                raise ValueError(f"cannot use {value}")

        configured(bench.registry, "parrot", Talkative)
        text = tools(POLLY + f"    login: {{user: me, code: {SECRET}}}\n")
        problem = bench.problem(text)
        assert SECRET not in str(problem)
        assert "'user': 'me'" in problem.message

    def test_of_the_environment_are_shown_by_name(self, bench: Any, good: str) -> None:
        problems = bench.problems(
            good.replace("acme", "${KEY}") + "tools: [{type: '${KEY}', name: x}]\n", KEY=SECRET
        )
        assert all("${KEY}" in problem.message for problem in problems)
        assert SECRET not in "\n".join(str(problem) for problem in problems)

    def test_no_cause_with_the_input_hangs_on_the_error(self, bench: Any, good: str) -> None:
        path = bench.write("agent.yaml", good + f"echo: {{volume: x, token: {SECRET}}}\n")
        with pytest.raises(AgentFileError) as caught:
            read_agent(path, bench.registry, environ={})
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None


class TestAllAtOnce:
    def test_structure_variables_values_and_references_are_told_together(self, bench: Any) -> None:
        problems = bench.problems(
            "name: a\nname: b\nmodel: {provider: nope, name: '${UNSET}', temperature: 9}\n"
            "instructions: {file: gone.md}\ntools:\n  - {type: nope}\n"
            + POLLY + "    colour: blue\nunknown: 1\necho: {volume: 12}\n"
        )  # fmt: skip
        assert [p.path for p in problems] == [
            "name",
            "model.provider",
            "model.name",
            "model.temperature",
            "instructions.file",
            "tools[0].type",
            "tools[1].colour",
            "unknown",
            "echo.volume",
        ]


PIECES = [
    "name: x\n", "model:\n", "  provider: acme\n", "tools:\n", "  - type: parrot\n", "    ", "- ",
    ": ", "{", "}", "[", "]", "'", '"', "&a ", "*a ", "<<: ", "!!int ", "!x ", "|\n", ">\n", "#",
    "${X}", "${", "\t", "\n", "\n---\n", "? ", "%", "@", "1e999", "0x", "null", ".nan", "é",
    "\u2028", "echo: {volume: 1}\n", "login: ", "words: ", "5", "instructions: hi\n", "logins: ",
]  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_no_text_produces_anything_but_an_agent_or_its_problems(bench: Any, seed: int) -> None:
    rng = random.Random(seed)
    outcomes: set[bool] = set()
    for _ in range(100):
        text = "".join(rng.choices(PIECES, k=rng.randint(1, 40)))
        try:
            bench.read(text)
        except AgentFileError as error:
            outcomes.add(bool(error.problems))
    assert False not in outcomes


def test_of_very_many_problems_the_first_are_shown_and_all_are_kept(bench: Any, good: str) -> None:
    problems = bench.problems(good + "tools:\n" + "- x\n" * 2_000)
    assert len(problems) == 2_000
    assert str(AgentFileError(problems)).endswith("\n… and 1900 more")
