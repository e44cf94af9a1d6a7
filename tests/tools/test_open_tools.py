"""The tools of an agent: opened, adapted, closed, and what happens when one fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
from pydantic import SecretStr

from holodeck_backend_claude import redaction
from holodeck_backend_claude.config import Agent, EmbeddingProviderConfig, ToolConfig
from holodeck_backend_claude.contract import BackendInitError, ConfigError
from holodeck_backend_claude.hookspecs import AdapterOverride, ToolContext, ToolType
from holodeck_backend_claude.redaction import mask_secrets
from holodeck_backend_claude.registry import Absent, Origin, Provided, Registry
from holodeck_backend_claude.retrieval.embedding.services import ServiceEmbedder
from holodeck_backend_claude.testing import ScriptedOpenAIAPI
from holodeck_backend_claude.tools import instances, owner
from holodeck_backend_claude.tools.context import cache_dir
from holodeck_backend_claude.tools.open_tools import OpenTools

ORIGIN = Origin("probes", "holodeck-probes", "1.0")
EMBEDDINGS = EmbeddingProviderConfig(provider="openai", api_key=SecretStr("key"))


class Probe(ToolConfig):
    type: Literal["probe"] = "probe"


def agent(*tools: ToolConfig, **fields: Any) -> Agent:
    model = fields.pop("model", {"provider": "anthropic", "name": "claude"})
    return Agent(name="support", model=model, instructions="Help.", tools=tools, **fields)


def probe(name: str, **settings: Any) -> Probe:
    return Probe(name=name, description=f"The {name}.", **settings)


class Stage:
    """A tool type whose instances are strings, and a record of what happened to them."""

    def __init__(self, make_adapter: Callable[..., Any]) -> None:
        self.events: list[str] = []
        self.contexts: dict[str, ToolContext] = {}
        self.make_adapter = make_adapter

    @asynccontextmanager
    async def open(self, config: Any, context: ToolContext) -> AsyncIterator[str]:
        self.contexts[config.name] = context
        self.events.append(f"open {config.name}")
        try:
            yield f"live {config.name}"
        finally:
            self.events.append(f"close {config.name}")

    def adapt(self, config: Any, instance: Any) -> Any:
        async def call(_call: Any) -> Any:
            return instance

        return self.make_adapter(call, name=config.name)

    def registry(self, **changes: Any) -> Registry:
        parts = {"adapter": self.adapt, "open": self.open, **changes}
        tool_type = ToolType(type="probe", config=Probe, **parts)
        return Registry(tool_types={"probe": Provided(tool_type, ORIGIN)})

    def tools(self, agent: Agent, registry: Registry | None = None, **options: Any) -> OpenTools:
        return OpenTools(
            agent, registry or self.registry(), backend="claude", ask_model=_ask, **options
        )


async def _ask(prompt: str) -> str:
    return prompt


@pytest.fixture
def stage(make_adapter: Callable[..., Any]) -> Stage:
    return Stage(make_adapter)


class TestOpenAndClose:
    async def test_every_tool_is_opened_bound_called_and_closed(self, stage: Stage) -> None:
        tools = stage.tools(agent(probe("a", timeout=7), probe("b")))
        await tools.open()
        assert [tool.name for tool in tools.tools] == ["a", "b"]
        assert tools.tools[0].origin == "tool 'a' (probe)"
        assert tools.tools[0].timeout == 7
        assert (await tools.tools[1].call({})).text == "live b"
        await tools.close()
        assert sorted(stage.events) == ["close a", "close b", "open a", "open b"]

    async def test_an_agent_without_tools_opens_nothing(self, stage: Stage) -> None:
        tools = stage.tools(agent())
        await tools.open()
        assert tools.tools == ()
        assert tools.system_prompt == "Help."
        await tools.close()

    async def test_tools_open_side_by_side_and_keep_their_order(self, stage: Stage) -> None:
        last_is_open = asyncio.Event()

        @asynccontextmanager
        async def opener(config: Any, _context: ToolContext) -> AsyncIterator[str]:
            if config.name == "last":
                last_is_open.set()
            else:
                await last_is_open.wait()  # one after the other, this would wait for ever
            yield config.name

        tools = stage.tools(agent(probe("first"), probe("last")), stage.registry(open=opener))
        await tools.open()
        assert [tool.name for tool in tools.tools] == ["first", "last"]
        await tools.close()

    async def test_each_tool_is_entered_and_left_in_one_task(self, stage: Stage) -> None:
        @asynccontextmanager
        async def opener(config: Any, _context: ToolContext) -> AsyncIterator[str]:
            async with anyio.create_task_group():  # refuses to be left in another task
                entered = asyncio.current_task()
                yield config.name
                assert asyncio.current_task() is entered
                stage.events.append("left")

        tools = stage.tools(agent(probe("a"), probe("b")), stage.registry(open=opener))
        await asyncio.create_task(tools.open())
        await asyncio.create_task(tools.close())
        assert stage.events == ["left", "left"]

    async def test_closing_twice_closes_once(self, stage: Stage) -> None:
        tools = stage.tools(agent(probe("a")))
        await tools.open()
        await tools.close()
        await tools.close()
        assert stage.events.count("close a") == 1
        assert tools.tools == ()

    async def test_a_type_without_open_has_no_instance(self, stage: Stage) -> None:
        tools = stage.tools(agent(probe("a")), stage.registry(open=None))
        await tools.open()
        assert "returned nothing" in (await tools.tools[0].call({})).text
        await tools.close()

    async def test_a_ready_instance_is_used_and_neither_opened_nor_closed(
        self, stage: Stage
    ) -> None:
        registry = stage.registry().with_instances({"a": "ready a"})
        tools = stage.tools(agent(probe("a"), probe("b")), registry)
        await tools.open()
        assert (await tools.tools[0].call({})).text == "ready a"
        await tools.close()
        assert stage.events == ["open b", "close b"]

    async def test_a_close_that_fails_is_logged_and_the_others_close(
        self, stage: Stage, caplog: pytest.LogCaptureFixture
    ) -> None:
        @asynccontextmanager
        async def opener(config: Any, _context: ToolContext) -> AsyncIterator[str]:
            yield config.name
            stage.events.append(f"close {config.name}")
            if config.name == "bad":
                raise SystemExit("password=hunter2")

        tools = stage.tools(agent(probe("bad"), probe("good")), stage.registry(open=opener))
        await tools.open()
        await tools.close()
        assert sorted(stage.events) == ["close bad", "close good"]
        assert "tool 'bad' (probe) ended with: SystemExit" in caplog.text
        assert "hunter2" not in caplog.text

    async def test_a_close_that_hangs_is_logged_and_bounded(
        self,
        stage: Stage,
        caplog: pytest.LogCaptureFixture,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(instances, "CLOSE_SECONDS", 0.01)
        cancelled = asyncio.Event()

        @asynccontextmanager
        async def opener(config: Any, _context: ToolContext) -> AsyncIterator[str]:
            yield config.name
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.set()
                raise

        tools = stage.tools(agent(probe("slow")), stage.registry(open=opener))
        await tools.open()
        await tools.close()
        assert cancelled.is_set()
        assert "tool 'slow' (probe) did not close within 0.01 s" in caplog.text

    async def test_a_close_that_ignores_its_cancellation_is_let_go(
        self,
        stage: Stage,
        caplog: pytest.LogCaptureFixture,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(instances, "CLOSE_SECONDS", 0.01)
        release, ended = asyncio.Event(), asyncio.Event()

        @asynccontextmanager
        async def opener(config: Any, _context: ToolContext) -> AsyncIterator[str]:
            yield config.name
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    continue
            ended.set()

        tools = stage.tools(agent(probe("stubborn")), stage.registry(open=opener))
        await tools.open()
        await tools.close()
        release.set()
        await ended.wait()
        assert "tool 'stubborn' (probe) ignores its cancellation" in caplog.text


class TestFailures:
    async def test_a_tool_that_does_not_open_is_named_with_type_and_cause(
        self, stage: Stage
    ) -> None:
        @asynccontextmanager
        async def opener(config: Any, context: ToolContext) -> AsyncIterator[str]:
            if config.name == "bad":
                raise ConnectionError("redis://:p4ssword@host refused")
            async with stage.open(config, context) as instance:
                yield instance

        tools = stage.tools(agent(probe("good"), probe("bad")), stage.registry(open=opener))
        with pytest.raises(BackendInitError) as caught:
            await tools.open()
        assert str(caught.value) == (
            "tool 'bad' (probe) could not be opened: "
            "ConnectionError: redis://:[secret]@host refused"
        )
        assert isinstance(caught.value.__cause__, ConnectionError)
        assert stage.events == ["open good", "close good"]
        assert tools.tools == ()

    async def test_a_tool_that_takes_long_to_open_is_named(
        self, stage: Stage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        class Heard(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                heard.set()

        heard = asyncio.Event()

        @asynccontextmanager
        async def opener(_config: Any, context: ToolContext) -> AsyncIterator[str]:
            context.log.addHandler(handler)
            await heard.wait()
            context.log.removeHandler(handler)
            yield ""

        handler = Heard()
        monkeypatch.setattr(owner, "SLOW_SECONDS", 0.05)
        tools = stage.tools(agent(probe("kb")), stage.registry(open=opener))
        await tools.open()
        await tools.close()
        assert "tool 'kb' (probe) is still opening after 0.05 s" in caplog.text

    async def test_an_error_for_the_user_is_told_as_it_is(self, stage: Stage) -> None:
        @asynccontextmanager
        async def opener(_config: Any, context: ToolContext) -> AsyncIterator[str]:
            if not context.cache_dir.exists():
                raise ConfigError("the folder 'docs' does not exist; create it")
            yield ""

        tools = stage.tools(agent(probe("kb")), stage.registry(open=opener))
        with pytest.raises(
            BackendInitError,
            match=r"^tool 'kb' \(probe\) could not be opened: the folder 'docs' does not exist",
        ):
            await tools.open()

    @pytest.mark.parametrize(
        "error", [SystemExit(1), KeyboardInterrupt(), asyncio.CancelledError()]
    )
    async def test_even_what_would_end_the_loop_is_the_failure_of_that_tool(
        self, stage: Stage, error: BaseException | None
    ) -> None:
        @asynccontextmanager
        async def opener(_config: Any, _context: ToolContext) -> AsyncIterator[str]:
            if error is not None:
                raise error
            yield ""

        with pytest.raises(BackendInitError, match=type(error).__name__):
            await stage.tools(agent(probe("kb")), stage.registry(open=opener)).open()

    @pytest.mark.parametrize(
        ("opener", "told"),
        [
            (lambda _config, _context: 5, "asynccontextmanager"),
            (lambda: None, "TypeError"),
            ("no_such_package.x:open", "no_such_package"),
        ],
    )
    async def test_an_open_that_is_none_is_explained(
        self, stage: Stage, opener: Any, told: str
    ) -> None:
        with pytest.raises(BackendInitError, match=rf"tool 'kb' \(probe\) could not.*{told}"):
            await stage.tools(agent(probe("kb")), stage.registry(open=opener)).open()

    @pytest.mark.parametrize(
        ("adapter", "told"),
        [
            (lambda _config, _instance: 5, "needs a 'name'"),
            (lambda _config, _instance: None, "needs a 'name'"),
            (lambda _config, _instance: 1 / 0, "ZeroDivisionError"),
            ("no_such_package.x:Adapter", "no_such_package"),
        ],
    )
    async def test_an_adapter_that_fails_closes_the_tool_and_is_explained(
        self, stage: Stage, adapter: Any, told: str
    ) -> None:
        tools = stage.tools(agent(probe("kb")), stage.registry(adapter=adapter))
        with pytest.raises(BackendInitError, match=rf"tool 'kb' \(probe\).*{told}"):
            await tools.open()
        assert stage.events == ["open kb", "close kb"]

    async def test_an_unknown_type_names_the_known_ones(self, stage: Stage) -> None:
        other = ToolConfig(type="other", name="x", description="x")
        with pytest.raises(BackendInitError, match=r"tool 'x' \(other\).*known types: probe\."):
            await stage.tools(agent(other)).open()

    async def test_a_type_of_a_blocked_plugin_names_the_plugin(self, stage: Stage) -> None:
        registry = stage.registry()
        absent = Absent(ORIGIN, "blocked", "blocked by agent.yaml", frozenset({("tool", "other")}))
        registry.absent = (absent,)
        other = ToolConfig(type="other", name="x", description="x")
        with pytest.raises(BackendInitError, match="holodeck-probes"):
            await stage.tools(agent(other), registry).open()

    async def test_cancelled_while_opening_nothing_stays_open(self, stage: Stage) -> None:
        waiting, cleaned = asyncio.Event(), asyncio.Event()

        @asynccontextmanager
        async def opener(config: Any, context: ToolContext) -> AsyncIterator[str]:
            async with stage.open(config, context) as instance:
                if config.name == "slow":
                    try:
                        waiting.set()
                        await asyncio.Event().wait()
                    finally:
                        await asyncio.sleep(0)
                        cleaned.set()
                yield instance

        tools = stage.tools(agent(probe("fast"), probe("slow")), stage.registry(open=opener))
        running = asyncio.create_task(tools.open())
        await waiting.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert cleaned.is_set()
        assert sorted(stage.events) == ["close fast", "close slow", "open fast", "open slow"]

    async def test_cancelled_by_an_anyio_scope_nothing_stays_open(self, stage: Stage) -> None:
        opened = asyncio.Event()

        @asynccontextmanager
        async def opener(config: Any, context: ToolContext) -> AsyncIterator[str]:
            async with stage.open(config, context) as instance:
                if config.name == "slow":
                    opened.set()
                    await asyncio.Event().wait()
                try:
                    yield instance
                finally:
                    await asyncio.sleep(0)

        tools = stage.tools(agent(probe("fast"), probe("slow")), stage.registry(open=opener))
        async with anyio.create_task_group() as group:
            group.start_soon(tools.open)
            await opened.wait()
            group.cancel_scope.cancel()
        assert sorted(stage.events) == ["close fast", "close slow", "open fast", "open slow"]

    async def test_a_tool_that_ends_by_itself_is_logged_and_harms_no_other(
        self, stage: Stage, caplog: pytest.LogCaptureFixture
    ) -> None:
        broken = asyncio.Event()

        @asynccontextmanager
        async def opener(config: Any, _context: ToolContext) -> AsyncIterator[str]:
            async def connection() -> None:
                await broken.wait()
                raise ConnectionError("server gone")

            async with anyio.create_task_group() as group:
                if config.name == "bad":
                    group.start_soon(connection)
                yield config.name

        tools = stage.tools(agent(probe("bad"), probe("good")), stage.registry(open=opener))
        await tools.open()
        broken.set()
        await asyncio.sleep(0)
        assert (await tools.tools[1].call({})).text == "good"
        await tools.close()
        assert "tool 'bad' (probe) ended with" in caplog.text
        assert "ConnectionError: server gone" in caplog.text


class TestAdapters:
    async def test_one_tool_may_give_several(
        self, stage: Stage, make_adapter: Callable[..., Any]
    ) -> None:
        def adapt(_config: Any, instance: str) -> Sequence[Any]:
            return [make_adapter(lambda _call: instance, name=name) for name in ("read", "write")]

        tools = stage.tools(agent(probe("files")), stage.registry(adapter=adapt))
        await tools.open()
        assert [tool.name for tool in tools.tools] == ["read", "write"]
        assert {tool.origin for tool in tools.tools} == {"tool 'files' (probe)"}
        await tools.close()

    async def test_of_several_one_with_a_bad_schema_is_named_and_the_good_ones_stay(
        self, stage: Stage, make_adapter: Callable[..., Any], caplog: pytest.LogCaptureFixture
    ) -> None:
        bad = {"type": "object", "oneOf": [{}, {}]}

        def adapt(_config: Any, _instance: str) -> Sequence[Any]:
            return (
                make_adapter(lambda _call: 1, name="good"),
                make_adapter(lambda _call: 1, name="bad", schema=bad),
            )

        tools = stage.tools(agent(probe("server")), stage.registry(adapter=adapt))
        await tools.open()
        assert [tool.name for tool in tools.tools] == ["good"]
        (left_out,) = tools.left_out
        assert "tool 'server' (probe), 'bad'" in left_out
        assert left_out in caplog.text
        await tools.close()

    async def test_a_tool_whose_only_schema_is_bad_is_an_error(
        self, stage: Stage, make_adapter: Callable[..., Any]
    ) -> None:
        def adapt(_config: Any, _instance: str) -> Any:
            return make_adapter(lambda _call: 1, schema={"type": "object", "oneOf": [{}, {}]})

        with pytest.raises(BackendInitError, match=r"tool 'kb' \(probe\).*\$\.oneOf"):
            await stage.tools(agent(probe("kb")), stage.registry(adapter=adapt)).open()

    async def test_the_override_of_the_backend_is_used(
        self, stage: Stage, make_adapter: Callable[..., Any]
    ) -> None:
        registry = stage.registry()
        override = AdapterOverride(
            "probe", "claude", lambda _config, _instance: make_adapter(lambda _c: 1, name="own")
        )
        registry.overrides["probe", "claude"] = Provided(override, ORIGIN)
        tools = stage.tools(agent(probe("kb")), registry)
        await tools.open()
        assert [tool.name for tool in tools.tools] == ["own"]
        await tools.close()

    async def test_one_name_twice_is_an_error_naming_both_tools(
        self, stage: Stage, make_adapter: Callable[..., Any]
    ) -> None:
        def adapt(_config: Any, _instance: str) -> Any:
            return make_adapter(lambda _call: 1, name="search")

        tools = stage.tools(agent(probe("a"), probe("b")), stage.registry(adapter=adapt))
        with pytest.raises(
            BackendInitError, match=r"tool 'a' \(probe\) and tool 'b' \(probe\).*'search'.*rename"
        ):
            await tools.open()
        assert sorted(stage.events) == ["close a", "close b", "open a", "open b"]

    async def test_the_backend_names_the_tools_on_the_wire(self, stage: Stage) -> None:
        def names(tools: Sequence[Any]) -> Mapping[str, Any]:
            return {f"wire {tool.name}": tool for tool in tools}

        tools = stage.tools(agent(probe("my tool"), probe("kb")), names=names)
        await tools.open()
        assert [tool.name for tool in tools.tools] == ["my tool", "kb"]
        assert list(tools.by_wire_name) == ["wire my tool", "wire kb"]
        await tools.close()
        assert not tools.by_wire_name

    async def test_without_a_backends_names_they_are_the_tools_own_made_legal(
        self, stage: Stage
    ) -> None:
        tools = stage.tools(agent(probe("my tool")))
        await tools.open()
        assert list(tools.by_wire_name) == ["my_tool"]
        await tools.close()

    async def test_a_tool_that_offers_nothing_adds_no_line_to_the_prompt(
        self, stage: Stage
    ) -> None:
        registry = stage.registry(
            instructions=lambda _config: "Use it.", adapter=lambda _config, _instance: ()
        )
        tools = stage.tools(agent(probe("kb")), registry)
        await tools.open()
        assert tools.tools == ()
        assert "Use it." not in tools.system_prompt
        await tools.close()

    async def test_instructions_of_a_type_follow_the_agents_own(self, stage: Stage) -> None:
        def instructions(config: Any) -> str | None:
            return f"Search {config.name} first." if config.name != "b" else None

        registry = stage.registry(instructions=instructions)
        tools = stage.tools(agent(probe("a"), probe("b"), probe("c")), registry)
        await tools.open()
        assert tools.system_prompt == "Help.\n\nSearch a first.\n\nSearch c first."
        await tools.close()

    async def test_instructions_that_fail_are_an_error_of_that_tool(self, stage: Stage) -> None:
        registry = stage.registry(instructions=lambda _config: 1 / 0)
        with pytest.raises(BackendInitError, match=r"tool 'a' \(probe\).*ZeroDivisionError"):
            await stage.tools(agent(probe("a")), registry).open()


class TestContext:
    async def test_a_tool_gets_its_folders_model_progress_and_logger(
        self, stage: Stage, tmp_path: Path
    ) -> None:
        told: list[Any] = []
        registry = stage.registry().with_progress(lambda *part: told.append(part))
        tools = stage.tools(agent(probe("kb"), base_dir=tmp_path), registry)
        await tools.open()
        context = stage.contexts["kb"]
        assert context.base_dir == tmp_path
        assert context.cache_dir == tmp_path / ".holodeck" / "tools" / "support" / "kb"
        assert not context.cache_dir.exists()
        assert await context.ask_model("hello") == "hello"
        context.progress("indexing", 1, 2)
        assert told == [("indexing", 1, 2)]
        assert isinstance(context.log, logging.Logger)
        assert context.log.name.endswith(".kb")
        await tools.close()

    async def test_a_tool_may_tell_its_progress_where_nobody_looks(self, stage: Stage) -> None:
        tools = stage.tools(agent(probe("kb")))
        await tools.open()
        stage.contexts["kb"].progress("indexing", 1, 2)
        await tools.close()

    def test_folders_of_different_tools_and_agents_differ(self, tmp_path: Path) -> None:
        one = agent(base_dir=tmp_path)
        other = Agent(**{**one.model_dump(), "name": "../sales", "base_dir": tmp_path})
        folders = [
            cache_dir(a, probe(name)) for a in (one, other) for name in ("kb", "KB", "../kb")
        ]
        assert len({str(folder).lower() for folder in folders}) == 6
        assert all(folder.parent.parent == tmp_path / ".holodeck" / "tools" for folder in folders)

    async def test_all_tools_share_one_embedder(self, stage: Stage) -> None:
        tools = stage.tools(agent(probe("a"), probe("b"), embedding_provider=EMBEDDINGS))
        await tools.open()
        shared = stage.contexts["a"].embeddings()
        assert shared is not None
        assert stage.contexts["b"].embeddings() is shared
        await tools.close()

    async def test_the_embedder_is_closed_once_after_the_tools(
        self, stage: Stage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def close(_embedder: ServiceEmbedder) -> None:
            stage.events.append("close embedder")

        monkeypatch.setattr(ServiceEmbedder, "close", close)
        tools = stage.tools(agent(probe("a"), probe("b"), embedding_provider=EMBEDDINGS))
        await tools.open()
        for context in stage.contexts.values():
            context.embeddings()
        await tools.close()
        await tools.close()
        assert sorted(stage.events[-3:-1]) == ["close a", "close b"]
        assert stage.events[-1] == "close embedder"
        assert stage.events.count("close embedder") == 1

    async def test_an_embedder_that_does_not_close_is_logged(
        self, stage: Stage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def close(_embedder: ServiceEmbedder) -> None:
            raise ConnectionError("redis://:p4ssword@host is gone")

        monkeypatch.setattr(ServiceEmbedder, "close", close)
        tools = stage.tools(agent(probe("a"), embedding_provider=EMBEDDINGS))
        await tools.open()
        stage.contexts["a"].embeddings()
        await tools.close()
        assert "did not close: ConnectionError: redis://:[secret]@host is gone" in caplog.text

    async def test_a_faulty_embedding_provider_is_told_when_it_is_first_asked_for(
        self, stage: Stage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        settings = EmbeddingProviderConfig(provider="openai")
        tools = stage.tools(agent(probe("a"), embedding_provider=settings))
        await tools.open()
        with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
            stage.contexts["a"].embeddings()
        await tools.close()

    async def test_embeddings_are_asked_for_with_key_and_address_of_the_env_file(
        self, stage: Stage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
            monkeypatch.delenv(variable, raising=False)
        async with ScriptedOpenAIAPI() as api:
            tools = stage.tools(
                agent(
                    probe("kb"),
                    embedding_provider=EmbeddingProviderConfig(provider="openai"),
                    dotenv={"OPENAI_API_KEY": "key-of-dotenv", "OPENAI_BASE_URL": api.base_url},
                )
            )
            await tools.open()
            embedder = stage.contexts["kb"].embeddings()
            assert isinstance(embedder, ServiceEmbedder)
            await embedder.embed_query("text")
            await embedder.close()
            await tools.close()
        (request,) = api.embedding_requests
        assert request.headers["authorization"] == "Bearer key-of-dotenv"

    async def test_the_secrets_of_the_agent_are_masked_from_then_on(
        self, stage: Stage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(redaction.known, "_remembered", set())
        secretive = agent(
            model={"provider": "anthropic", "name": "claude", "api_key": "model-key-1"},
            embedding_provider=EmbeddingProviderConfig(api_key=SecretStr("embed-key-1")),
            dotenv={"SEARCH_KEY": "dotenv-key-1", "REGION": "europe-west-1"},
        )
        await stage.tools(secretive).open()
        told = mask_secrets("model-key-1 embed-key-1 dotenv-key-1 europe-west-1")
        assert told == "[secret] [secret] [secret] europe-west-1"


class Exiting:
    """An adapter that would end the process as soon as it is looked at."""

    name = "exiting"
    description = "Exits."

    @property
    def input_schema(self) -> dict[str, Any]:
        raise SystemExit(3)

    async def call(self, _call: Any) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize(
    "part", [{"adapter": lambda _config, _instance: Exiting()}, {"instructions": lambda _: exit_()}]
)
async def test_a_plugin_that_exits_is_a_tool_that_cannot_be_used(
    stage: Stage, part: dict[str, Any]
) -> None:
    tools = stage.tools(agent(probe("a")), stage.registry(**part))
    with pytest.raises(BackendInitError, match=r"tool 'a' \(probe\).*SystemExit: 3"):
        await tools.open()
    assert stage.events == ["open a", "close a"]


def exit_() -> str:
    raise SystemExit(3)
