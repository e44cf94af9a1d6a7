"""The names of the OpenTelemetry conventions for GenAI (1.38), and the few of our own.

Kept here, because the package with these constants changes their places between versions.
"""

from __future__ import annotations

SCOPE = "holodeck_backend_claude"

OPERATION = "gen_ai.operation.name"
INVOKE_AGENT, CHAT, EXECUTE_TOOL = "invoke_agent", "chat", "execute_tool"
PROVIDER = "gen_ai.provider.name"
AGENT_NAME = "gen_ai.agent.name"
AGENT_DESCRIPTION = "gen_ai.agent.description"
CONVERSATION = "gen_ai.conversation.id"
REQUEST_MODEL = "gen_ai.request.model"
REQUEST_TEMPERATURE = "gen_ai.request.temperature"
REQUEST_TOP_P = "gen_ai.request.top_p"
REQUEST_MAX_TOKENS = "gen_ai.request.max_tokens"
RESPONSE_MODEL = "gen_ai.response.model"
RESPONSE_ID = "gen_ai.response.id"
FINISH_REASONS = "gen_ai.response.finish_reasons"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
CACHE_READ = "gen_ai.usage.cache_read.input_tokens"
CACHE_CREATION = "gen_ai.usage.cache_creation.input_tokens"
TOOL_NAME = "gen_ai.tool.name"
TOOL_CALL_ID = "gen_ai.tool.call.id"
TOOL_TYPE = "gen_ai.tool.type"
TOOL_ARGUMENTS = "gen_ai.tool.call.arguments"
TOOL_RESULT = "gen_ai.tool.call.result"
SYSTEM_INSTRUCTIONS = "gen_ai.system_instructions"
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
ERROR_TYPE = "error.type"
TOKEN_TYPE = "gen_ai.token.type"  # noqa: S105  no secret

COST_USD = "holodeck.usage.cost_usd"
NUM_TURNS = "holodeck.num_turns"

TOKEN_USAGE = "gen_ai.client.token.usage"  # noqa: S105  no secret
OPERATION_DURATION = "gen_ai.client.operation.duration"
TOKEN_BUCKETS = tuple(4.0**power for power in range(14))
DURATION_BUCKETS = tuple(0.01 * 2.0**power for power in range(14))


def error_type(reason: str | None) -> str:
    """The word for a reason why something failed: ``timeout_exceeded``, or an HTTP status."""
    head, _, tail = (reason or "unknown").partition(": ")
    if head == "provider error" and tail:
        head = tail
    return head.strip().lower().replace(" ", "_")
