"""Plain answers: what is sent, and what the result says."""

from __future__ import annotations

from pathlib import Path

import pytest

from holodeck_backend_claude.config import Instructions
from holodeck_backend_claude.testing import Usage, say

from .lab import MODEL, Lab


async def test_a_plain_answer_comes_back_with_usage_ids_and_model(lab: Lab) -> None:
    _, backend = await lab.run([say("Hello.", usage=Usage(input=10, output=7, cache_read=3))])
    result = await backend.invoke_once("Hi")
    assert result.response == "Hello."
    assert not result.is_error
    assert result.error_reason is None
    assert result.token_usage == {
        "input_tokens": 13,
        "output_tokens": 7,
        "total_tokens": 20,
        "cache_read_input_tokens": 3,
    }
    assert result.num_turns == 1
    assert result.model == MODEL
    assert result.cost_usd is None
    assert result.session_id
    assert result.duration_ms is not None
    assert result.duration_ms >= 0
    assert result.tool_calls == []
    assert result.tool_results == []


async def test_the_request_carries_instructions_message_and_key_and_nothing_unset(
    lab: Lab,
) -> None:
    api, backend = await lab.run([say("Hello.")])
    await backend.invoke_once("Hi")
    [request] = api.requests
    assert request.headers["authorization"] == "Bearer scripted-no-key"
    assert request.body == {
        "model": MODEL,
        "messages": [
            {"role": "system", "content": "You are a probe."},
            {"role": "user", "content": "Hi"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


async def test_sampling_settings_are_sent_where_they_are_set(lab: Lab) -> None:
    api, backend = await lab.run(
        [say("Hello.")], model={"temperature": 0.0, "max_tokens": 77, "top_p": 0.25}
    )
    await backend.invoke_once("Hi")
    body = api.requests[0].body
    assert (body["temperature"], body["max_tokens"], body["top_p"]) == (0.0, 77, 0.25)
    assert "max_completion_tokens" not in body


async def test_a_reasoning_model_gets_its_own_name_for_the_token_limit(lab: Lab) -> None:
    api, backend = await lab.run([say("Hello.")], model={"name": "gpt-5-mini", "max_tokens": 77})
    await backend.invoke_once("Hi")
    assert api.requests[0].body["max_completion_tokens"] == 77
    assert "max_tokens" not in api.requests[0].body


async def test_instructions_are_a_text_and_not_a_template(lab: Lab) -> None:
    text = "Say {{$name}} and {{tools.kb_search 'x'}} <message role='user'>as they are</message>."
    api, backend = await lab.run([say("Hello.")], instructions=Instructions(inline=text))
    await backend.invoke_once("{{$input}} & <b>")
    assert api.requests[0].system == text
    assert api.requests[0].last_user_text == "{{$input}} & <b>"


async def test_context_is_sent_as_chat_history(lab: Lab) -> None:
    api, backend = await lab.run([say("Your name is Ada.")])
    context = [
        {"role": "user", "content": "I am Ada."},
        {"role": "assistant", "content": "Hello Ada."},
    ]
    await backend.invoke_once("Who am I?", context=context)
    assert api.requests[0].body["messages"][1:] == [
        *context,
        {"role": "user", "content": "Who am I?"},
    ]


async def test_thinking_that_a_server_sends_is_kept_apart_from_the_answer(lab: Lab) -> None:
    _, backend = await lab.run([say("42.", thinking="Let me see.")])
    result = await backend.invoke_once("Hi")
    assert (result.response, result.thinking) == ("42.", "Let me see.")


async def test_an_answer_stopped_by_the_content_filter_is_refused(lab: Lab) -> None:
    _, backend = await lab.run([say("I can", stop_reason="refusal")])
    result = await backend.invoke_once("Hi")
    assert (result.is_error, result.error_reason) == (True, "refused")
    assert result.response == "I can"


async def test_an_empty_answer_is_an_answer_and_the_next_turn_is_well_formed(lab: Lab) -> None:
    api, backend = await lab.run([say(""), say("Well.")])
    session = await backend.create_session()
    assert (await session.send("")).response == ""
    assert (await session.send("And?")).response == "Well."
    assert api.requests[1].body["messages"][1:] == [
        {"role": "user", "content": ""},
        {"role": "assistant", "content": ""},
        {"role": "user", "content": "And?"},
    ]


async def test_unicode_and_long_texts_survive_the_way_there_and_back(lab: Lab) -> None:
    long = "Zażółć gęślą jaźń 漢字 🙂\u2028 " * 8_000
    api, backend = await lab.run([say(long)])
    assert (await backend.invoke_once(long)).response == long
    assert api.requests[0].body["messages"][-1]["content"] == long


async def test_an_env_file_in_the_working_folder_is_not_read(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.joinpath(".env").write_text("OPENAI_ORG_ID=leaked\nOPENAI_CHAT_MODEL_ID=leaked\n")
    monkeypatch.chdir(tmp_path)
    api, backend = await lab.run([say("Hello.")])
    await backend.invoke_once("Hi")
    assert "leaked" not in str(api.requests[0])
