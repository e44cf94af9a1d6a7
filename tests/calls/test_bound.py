"""The call policy around every tool, and how a tool is bound to it."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import logging
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import anyio
import pytest

from holodeck_backend_claude import redaction
from holodeck_backend_claude.calls import BoundTool, RefusedArguments, SchemaRefusedError, bind
from holodeck_backend_claude.concurrency import blocked_threads, in_thread
from holodeck_backend_claude.config import ToolConfig
from holodeck_backend_claude.contract import (
    PluginError,
    TextContent,
    ToolAnnotations,
    ToolCall,
    ToolResult,
)

MakeTool = Callable[..., BoundTool]
user: contextvars.ContextVar[str] = contextvars.ContextVar("user", default="nobody")

COUNT = {
    "type": "object",
    "properties": {
        "n": {"type": "integer", "minimum": 1},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["n"],
    "additionalProperties": False,
}


async def returns(value: Any, _call: ToolCall) -> Any:
    return value


def returning(value: Any) -> Callable[[ToolCall], Any]:
    return functools.partial(returns, value)


def raising(error: BaseException) -> Callable[[ToolCall], Any]:
    async def fail(_call: ToolCall) -> None:
        raise error

    return fail


async def for_ever(_call: ToolCall) -> None:
    await asyncio.Event().wait()


class TestArguments:
    async def test_are_coerced_and_given_to_the_tool(self, make_tool: MakeTool) -> None:
        seen: list[Any] = []

        async def call(call: ToolCall) -> str:
            seen.append(call.arguments)
            return "ok"

        given = {"n": "5", "tags": '["a"]'}
        result = await make_tool(call, schema=COUNT).call(given)
        assert result == ToolResult.from_text("ok")
        assert seen == [{"n": 5, "tags": ["a"]}]
        assert given == {"n": "5", "tags": '["a"]'}

    @pytest.mark.parametrize(
        ("given", "told"),
        [
            ({}, "'n' is a required property"),
            ({"n": "many"}, "n: 'many' is not of type 'integer'"),
            ({"n": 0}, "n: 0 is less than the minimum of 1"),
            ({"n": 1, "m": 2}, "'m' was unexpected"),
            ({"n": 1, "tags": ["a", 2]}, "tags[1]: 2 is not of type 'string'"),
            ("text", "'text' is not of type 'object'"),
            ([1], "[1] is not of type 'object'"),
        ],
    )
    async def test_that_do_not_fit_are_refused_in_words_and_the_tool_is_not_called(
        self, make_tool: MakeTool, given: Any, told: str
    ) -> None:
        called: list[ToolCall] = []
        result = await make_tool(called.append, schema=COUNT, on_error="fail").call(given)
        assert result.is_error
        assert "tool 'probe'" in result.text
        assert told in result.text
        assert called == []

    async def test_none_stands_for_no_arguments(self, make_tool: MakeTool) -> None:
        assert (await make_tool(returning("ok")).call(None)).text == "ok"

    async def test_a_whole_object_sent_as_text_is_read(self, make_tool: MakeTool) -> None:
        assert not (await make_tool(returning("ok"), schema=COUNT).call('{"n": "1"}')).is_error

    async def test_of_many_problems_the_first_ones_are_told_and_the_rest_counted(
        self, make_tool: MakeTool
    ) -> None:
        result = await make_tool(returning(1), schema=COUNT).call({"n": 1, "tags": list(range(9))})
        assert "and 4 more" in result.text

    async def test_arguments_that_take_for_ever_to_check_are_refused_and_the_tool_is_not_called(
        self, make_tool: MakeTool
    ) -> None:
        words = {"type": "string", "pattern": "^(a|a)*$"}
        either = {"anyOf": [words, {"type": "integer"}]}
        for name, schema in (("plain", words), ("either", either)):
            properties = {"type": "object", "properties": {"a": schema}}
            result = await make_tool(returning("called"), schema=properties).call(
                {"a": "a" * 60 + "!"}
            )
            assert "it took too long to check" in result.text, name
            assert isinstance(result, RefusedArguments)

    async def test_a_secret_in_refused_arguments_is_masked(self, make_tool: MakeTool) -> None:
        result = await make_tool(returning(1), schema=COUNT).call({"n": "sk-ant-abcdefgh12345"})
        assert "abcdefgh12345" not in result.text


class TestCallOfTheAdapter:
    async def test_ids_deadline_and_progress_reach_the_tool(self, make_tool: MakeTool) -> None:
        seen: list[ToolCall] = []
        told: list[Any] = []

        async def call(call: ToolCall) -> None:
            seen.append(call)
            call.report_progress(1, 2, "half")

        before = time.monotonic()
        await make_tool(call, timeout=30).call(
            {}, call_id="toolu_1", session_id="s", report_progress=lambda *p: told.append(p)
        )
        (got,) = seen
        assert (got.call_id, got.session_id) == ("toolu_1", "s")
        assert got.deadline is not None
        assert before + 30 <= got.deadline <= time.monotonic() + 30
        assert told == [(1, 2, "half")]

    async def test_progress_from_a_thread_arrives_on_the_loop(self, make_tool: MakeTool) -> None:
        told: list[Any] = []
        arrived = asyncio.Event()

        def show(*progress: Any) -> None:
            told.append((threading.current_thread(), *progress))
            arrived.set()

        async def call(call: ToolCall) -> None:
            await in_thread(call.report_progress, 1, None, "working")
            await arrived.wait()

        await make_tool(call).call({}, report_progress=show)
        assert told == [(threading.current_thread(), 1, None, "working")]

    async def test_progress_that_cannot_be_shown_or_comes_late_harms_nothing(
        self, make_tool: MakeTool, caplog: pytest.LogCaptureFixture
    ) -> None:
        kept: list[ToolCall] = []

        async def call(call: ToolCall) -> str:
            kept.append(call)
            call.report_progress(1, None, "x")
            return "done"

        show = MagicMock(side_effect=ValueError("no terminal"))
        assert (await make_tool(call).call({}, report_progress=show)).text == "done"
        kept[0].report_progress(2, None, "late")
        assert show.call_count == 1

    async def test_runs_with_the_context_of_the_caller(self, make_tool: MakeTool) -> None:
        async def on_loop(_call: ToolCall) -> str:
            return user.get()

        def off_loop(_call: ToolCall) -> str:
            return user.get()

        user.set("caller")
        assert (await make_tool(on_loop).call({})).text == "caller"
        assert (await make_tool(off_loop).call({})).text == "caller"

    async def test_a_sync_call_runs_off_the_loop(self, make_tool: MakeTool) -> None:
        release = threading.Event()

        def call(_call: ToolCall) -> str:
            release.wait()
            return threading.current_thread().name

        running = asyncio.create_task(make_tool(call).call({}))
        await asyncio.sleep(0)
        release.set()
        assert (await running).text != threading.current_thread().name

    async def test_a_sync_call_can_opt_out_of_the_thread(self, make_adapter: Any) -> None:
        adapter = make_adapter(lambda _call: threading.current_thread().name)
        adapter.in_thread = False
        assert (await bind(adapter).call({})).text == threading.current_thread().name

    async def test_a_call_may_return_an_awaitable_or_be_a_callable_object(
        self, make_tool: MakeTool
    ) -> None:
        async def forgets_to_await(call: ToolCall) -> Any:
            return returns("forgotten", call)

        class Callable_:  # noqa: N801
            async def __call__(self, _call: ToolCall) -> str:
                return threading.current_thread().name

        assert (await make_tool(lambda call: returns("later", call)).call({})).text == "later"
        assert (await make_tool(forgets_to_await).call({})).text == "forgotten"
        assert (await make_tool(Callable_()).call({})).text == threading.current_thread().name

    async def test_any_return_value_becomes_content(self, make_tool: MakeTool) -> None:
        for value in (None, "", 5, {"a": 1}, [1], b"x", object(), ToolResult()):
            result = await make_tool(returning(value)).call({})
            assert result.text
            assert not result.is_error

    async def test_a_result_is_capped_with_a_visible_mark(self, make_tool: MakeTool) -> None:
        result = await make_tool(returning("x" * 5_000), max_result_chars=1_000).call({})
        assert len(result.text) <= 1_000
        assert "of 5000 characters left out]" in result.text


class TestFailures:
    @pytest.mark.parametrize(
        ("error", "text"),
        [
            (ValueError("bad day"), "ValueError: bad day"),
            (TimeoutError(), "TimeoutError: no message"),
            (AssertionError(), "AssertionError: no message"),
            (KeyError("id"), "KeyError: 'id'"),
            (asyncio.CancelledError(), "CancelledError: no message"),
            (SystemExit(3), "SystemExit: 3"),
            (KeyboardInterrupt(), "KeyboardInterrupt: no message"),
            (GeneratorExit(), "GeneratorExit: no message"),
            (StopAsyncIteration(), "StopAsyncIteration: no message"),
            (
                ExceptionGroup("two", [ValueError("a"), KeyError("b")]),
                "ExceptionGroup: two (2 sub-exceptions) [ValueError: a; KeyError: 'b']",
            ),
        ],
    )
    async def test_any_exception_is_an_error_result_with_type_and_message(
        self, make_tool: MakeTool, error: BaseException, text: str
    ) -> None:
        assert await make_tool(raising(error)).call({}) == ToolResult.from_text(text, is_error=True)

    @pytest.mark.parametrize(
        "error", [asyncio.CancelledError(), SystemExit(3), KeyboardInterrupt(), GeneratorExit()]
    )
    async def test_a_base_exception_of_one_call_harms_no_other_call(
        self, make_tool: MakeTool, error: BaseException
    ) -> None:
        steady, failing = make_tool(returning("fine")), make_tool(raising(error))
        results = await asyncio.gather(steady.call({}), failing.call({}), steady.call({}))
        assert [result.is_error for result in results] == [False, True, False]
        assert (await steady.call({})).text == "fine"

    async def test_a_base_exception_of_a_sync_call_is_an_error_result(
        self, make_tool: MakeTool
    ) -> None:
        def leave(_call: ToolCall) -> None:
            sys.exit("enough")

        result = await make_tool(leave).call({})
        assert result.is_error
        assert "SystemExit" in result.text
        assert "enough" in result.text

    async def test_a_tool_that_cancels_its_own_task_ends_only_itself(
        self, make_tool: MakeTool
    ) -> None:
        async def give_up(_call: ToolCall) -> str:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            return "never seen"

        result = await make_tool(give_up).call({})
        assert result.is_error
        assert "cancelled itself" in result.text

    async def test_an_exception_that_cannot_be_shown_still_has_its_type(
        self, make_tool: MakeTool
    ) -> None:
        class MuteError(Exception):
            def __str__(self) -> str:
                raise ValueError

        assert (await make_tool(raising(MuteError())).call({})).text == "MuteError: no message"

    async def test_secrets_in_an_error_are_masked_and_a_long_one_is_capped(
        self, make_tool: MakeTool
    ) -> None:
        error = ConnectionError("postgres://app:s3cr3t@db " + "x" * 500)
        result = await make_tool(raising(error), max_result_chars=200).call({})
        assert "s3cr3t" not in result.text
        assert len(result.text) <= 200

    async def test_secrets_in_an_error_result_of_the_tool_itself_are_masked(
        self, make_tool: MakeTool
    ) -> None:
        own = ToolResult((TextContent("Bearer abcdefgh1234 refused"),), {"key": "x"}, is_error=True)
        result = await make_tool(returning(own)).call({})
        assert result.text == "Bearer [secret] refused"
        assert result.structured is None

    async def test_of_a_very_long_error_only_what_is_kept_is_looked_through(
        self, make_tool: MakeTool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        looked_through: list[int] = []

        def mask(text: str) -> str:
            looked_through.append(len(text))
            return text

        monkeypatch.setattr(redaction, "mask_secrets", mask)
        own = ToolResult.from_text("e" * 5_000_000, is_error=True)
        result = await make_tool(returning(own), max_result_chars=1_000).call({})
        assert result.text.endswith("of 5000000 characters left out]")
        assert len(result.text) == 1_000
        assert max(looked_through) < 10_000

    async def test_secrets_in_a_good_result_are_left_alone(self, make_tool: MakeTool) -> None:
        text = "Send the header Authorization: Bearer <your token here>."
        assert (await make_tool(returning(text)).call({})).text == text


class TestTimeLimit:
    async def test_an_overdue_call_is_cancelled_and_the_error_names_tool_and_limit(
        self, make_tool: MakeTool
    ) -> None:
        cleaned = asyncio.Event()

        async def call(call: ToolCall) -> None:
            try:
                await for_ever(call)
            finally:
                cleaned.set()

        result = await make_tool(call, timeout=0.01).call({})
        assert result.is_error
        assert result.text == "tool 'probe' did not finish within its limit of 0.01 s"
        assert cleaned.is_set()

    async def test_a_timeout_of_the_tool_itself_reads_differently(
        self, make_tool: MakeTool
    ) -> None:
        result = await make_tool(raising(TimeoutError("upstream")), timeout=5).call({})
        assert result.text == "TimeoutError: upstream"

    async def test_a_blocked_thread_does_not_hold_the_caller(self, make_tool: MakeTool) -> None:
        release = threading.Event()
        before = blocked_threads()
        result = await make_tool(lambda _call: release.wait(), timeout=0.01).call({})
        assert "limit of 0.01 s" in result.text
        assert blocked_threads() == before + 1
        release.set()

    async def test_a_tool_that_ignores_its_cancellation_does_not_hold_the_caller(
        self, make_tool: MakeTool, caplog: pytest.LogCaptureFixture
    ) -> None:
        release = asyncio.Event()
        ended = asyncio.Event()

        async def stubborn(_call: ToolCall) -> None:
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    continue
            ended.set()

        result = await make_tool(stubborn, timeout=0.01).call({})
        assert "limit of 0.01 s" in result.text
        assert "tool 'probe' ignores its cancellation" in caplog.text
        release.set()
        await ended.wait()

    def test_a_tool_that_ignores_everything_does_not_keep_the_program_from_ending(self) -> None:
        program = """
            import asyncio, types
            from holodeck_backend_claude.contract import ToolAnnotations
            from holodeck_backend_claude.calls import bind

            class Stubborn:
                name = "stubborn"
                description = "Never ends."
                input_schema = {"type": "object", "properties": {}}
                annotations = ToolAnnotations()
                async def call(self, call):
                    while True:
                        try:
                            await asyncio.sleep(3600)
                        except BaseException:
                            pass

            config = types.SimpleNamespace(name="stubborn", type="test", timeout=0.01)
            result = asyncio.run(bind(Stubborn(), config).call({}))
            print(result.text)
        """
        ended = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program)],
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
        assert "limit of 0.01 s" in ended.stdout
        assert "Task was destroyed" not in ended.stderr


class TestCancellation:
    async def test_from_outside_reaches_the_work_and_is_raised(self, make_tool: MakeTool) -> None:
        started, cleaned = asyncio.Event(), asyncio.Event()

        async def call(_call: ToolCall) -> None:
            started.set()
            try:
                await asyncio.Event().wait()
            finally:
                cleaned.set()

        running = asyncio.create_task(make_tool(call).call({}))
        await started.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert cleaned.is_set()

    async def test_waits_until_the_work_has_cleaned_up(self, make_tool: MakeTool) -> None:
        started, order = asyncio.Event(), list[str]()

        async def call(_call: ToolCall) -> None:
            started.set()
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                order.append("cleaned")

        running = asyncio.create_task(make_tool(call).call({}))
        await started.wait()
        running.cancel()
        await asyncio.wait({running})
        order.append("raised")
        assert order == ["cleaned", "raised"]

    async def test_of_an_anyio_scope_lets_the_work_clean_up_too(self, make_tool: MakeTool) -> None:
        started, cleaned = asyncio.Event(), asyncio.Event()

        async def call(_call: ToolCall) -> None:
            started.set()
            try:
                await asyncio.Event().wait()
            finally:
                for _ in range(5):
                    await asyncio.sleep(0)
                cleaned.set()

        async with anyio.create_task_group() as group:
            group.start_soon(make_tool(call).call, {})
            await started.wait()
            group.cancel_scope.cancel()
        assert cleaned.is_set()

    async def test_while_waiting_for_a_turn_leaves_the_turn_to_the_next(
        self, make_tool: MakeTool
    ) -> None:
        release = asyncio.Event()

        async def call(_call: ToolCall) -> str:
            await release.wait()
            return "done"

        tool = make_tool(call, concurrency=1)
        first, second, third = (asyncio.create_task(tool.call({})) for _ in range(3))
        await asyncio.sleep(0)
        second.cancel()
        release.set()
        assert (await first).text == "done"
        assert (await third).text == "done"
        assert second.cancelled()


class TestConcurrency:
    async def test_no_more_calls_run_at_once_than_the_limit(self, make_tool: MakeTool) -> None:
        running = most = 0

        async def call(_call: ToolCall) -> str:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1
            return "done"

        tool = make_tool(call, concurrency=2)
        results = await asyncio.gather(*(tool.call({}) for _ in range(7)))
        assert most == 2
        assert [result.text for result in results] == ["done"] * 7

    async def test_waiting_for_a_turn_does_not_count_as_time_of_the_call(
        self, make_tool: MakeTool
    ) -> None:
        begun: list[float] = []
        ended: list[float] = [time.monotonic()]

        async def call(call: ToolCall) -> None:
            assert call.deadline is not None
            begun.append(call.deadline - 5)
            await asyncio.sleep(0)
            ended.append(time.monotonic())

        tool = make_tool(call, concurrency=1, timeout=5)
        await asyncio.gather(*(tool.call({}) for _ in range(3)))
        assert all(end <= begin for end, begin in zip(ended, begun, strict=False))

    async def test_a_failed_call_frees_its_turn(self, make_tool: MakeTool) -> None:
        tool = make_tool(raising(ValueError("x")), concurrency=1)
        assert [(await tool.call({})).text for _ in range(3)] == ["ValueError: x"] * 3

    async def test_a_call_that_still_blocks_its_thread_keeps_its_turn(
        self, make_tool: MakeTool
    ) -> None:
        release = threading.Event()
        tool = make_tool(lambda _call: release.wait(), concurrency=1, timeout=0.01)
        first, waiting = await asyncio.gather(tool.call({}), tool.call({}))
        assert "limit of 0.01 s" in first.text
        assert "takes no more calls" in waiting.text
        assert "takes no more calls" in (await tool.call({})).text
        threads = [t for t in threading.enumerate() if t.name == "tool 'probe'"]
        release.set()
        for thread in threads:
            await in_thread(thread.join)
        assert (await tool.call({})).text == "true"

    def test_a_tool_may_be_used_from_one_event_loop_after_the_other(
        self, make_tool: MakeTool
    ) -> None:
        async def call(_call: ToolCall) -> str:
            await asyncio.sleep(0)
            return "done"

        tool = make_tool(call, concurrency=1)

        async def twice() -> list[str]:
            return [r.text for r in await asyncio.gather(tool.call({}), tool.call({}))]

        assert asyncio.run(twice()) == asyncio.run(twice()) == ["done", "done"]


class TestEndingTheRun:
    async def test_only_a_tool_that_says_so_ends_it(self, make_tool: MakeTool) -> None:
        for on_error, ends in (("fail", True), ("continue", False), (None, False)):
            tool = make_tool(raising(ValueError("x")), on_error=on_error)
            assert tool.ends_run is ends
            assert tool.ended_by(await tool.call({})) is ends

    async def test_neither_success_nor_refused_arguments_end_it(self, make_tool: MakeTool) -> None:
        tool = make_tool(returning("ok"), schema=COUNT, on_error="fail")
        refused = await tool.call({})
        assert isinstance(refused, RefusedArguments)
        assert not tool.ended_by(refused)
        assert not tool.ended_by(await tool.call({"n": 1}))


class TestBind:
    def test_reads_the_adapter_and_the_config(self, make_adapter: Any) -> None:
        adapter = make_adapter(for_ever, name="kb_search", schema=COUNT)
        config = SimpleNamespace(
            name="kb", type="vectorstore", timeout=5, max_result_chars=500, concurrency=2,
            on_error="fail",
        )  # fmt: skip
        tool = bind(adapter, config)
        assert tool.adapter is adapter
        assert tool.config is config
        assert (tool.name, tool.description) == ("kb_search", "A tool under test.")
        assert tool.schema == COUNT
        assert tool.annotations == ToolAnnotations(read_only=True)
        assert tool.origin == "tool 'kb' (vectorstore)"
        assert (tool.timeout, tool.ends_run) == (5, True)
        assert (tool.policy.max_result_chars, tool.policy.concurrency) == (500, 2)

    @pytest.mark.parametrize(
        "config",
        [
            None,
            object(),
            MagicMock(),
            SimpleNamespace(timeout=-1, concurrency=0.5, max_result_chars=True),
            SimpleNamespace(timeout=float("nan"), concurrency=float("inf"), on_error="maybe"),
            ToolConfig(type="x", name="x", description="x"),
        ],
    )
    def test_settings_that_are_absent_or_senseless_are_the_defaults(
        self, make_adapter: Any, config: Any
    ) -> None:
        tool = bind(make_adapter(for_ever), config)
        assert (tool.timeout, tool.ends_run) == (60, False)
        assert (tool.policy.max_result_chars, tool.policy.concurrency) == (100_000, 4)

    def test_takes_the_config_of_the_adapter_where_none_is_given(self, make_adapter: Any) -> None:
        adapter = make_adapter(for_ever)
        adapter.config = SimpleNamespace(name="kb", type="vectorstore", timeout=7)
        assert bind(adapter).timeout == 7
        assert bind(adapter).origin == "tool 'kb' (vectorstore)"

    def test_says_where_a_tool_without_a_config_comes_from(self, make_adapter: Any) -> None:
        assert bind(make_adapter(for_ever)).origin == "adapter Adapter"
        assert bind(make_adapter(for_ever), origin="plugin x").origin == "plugin x"

    def test_annotations_may_be_absent(self, make_adapter: Any) -> None:
        adapter = make_adapter(for_ever)
        adapter.annotations = None
        assert bind(adapter).annotations == ToolAnnotations()

    @pytest.mark.parametrize(
        ("attribute", "value"),
        [("name", ""), ("name", None), ("description", 5), ("call", None), ("annotations", {})],
    )
    def test_an_adapter_that_is_none_is_refused_by_origin_and_attribute(
        self, make_adapter: Any, attribute: str, value: object
    ) -> None:
        adapter = make_adapter(for_ever)
        setattr(adapter, attribute, value)
        with pytest.raises(PluginError, match=rf"tool 'kb' \(x\).*{attribute}"):
            bind(adapter, SimpleNamespace(name="kb", type="x"))

    def test_a_bad_schema_is_refused_naming_origin_and_tool(self, make_adapter: Any) -> None:
        adapter = make_adapter(for_ever, name="do", schema={"type": "object", "anyOf": [{}, {}]})
        with pytest.raises(SchemaRefusedError, match=r"tool 'kb' \(x\), 'do'.*\$\.anyOf"):
            bind(adapter, SimpleNamespace(name="kb", type="x"))


async def test_a_thread_left_behind_is_logged_with_the_name_of_its_tool(
    make_tool: MakeTool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    release = threading.Event()
    await make_tool(lambda _call: release.wait(), name="slow", timeout=0.01).call({})
    release.set()
    assert "tool 'slow': a call was given up but its thread still runs" in caplog.text
