"""What is used of Semantic Kernel, imported in one place and without its import warnings."""

from __future__ import annotations

import logging
import warnings

with warnings.catch_warnings():
    # Its models use calls that the pydantic of today deprecates; nothing a user could act on.
    warnings.simplefilter("ignore")
    from semantic_kernel.agents.chat_completion.chat_completion_agent import (
        ChatCompletionAgent,
        ChatHistoryAgentThread,
    )
    from semantic_kernel.connectors.ai.chat_completion_client_base import ChatCompletionClientBase
    from semantic_kernel.connectors.ai.function_call_choice_configuration import (
        FunctionCallChoiceConfiguration,
    )
    from semantic_kernel.connectors.ai.function_choice_behavior import FunctionChoiceBehavior
    from semantic_kernel.connectors.ai.function_choice_type import FunctionChoiceType
    from semantic_kernel.connectors.ai.open_ai import (
        AzureChatCompletion,
        AzureChatPromptExecutionSettings,
        OpenAIChatCompletion,
        OpenAIChatPromptExecutionSettings,
    )
    from semantic_kernel.connectors.ai.open_ai.services.open_ai_chat_completion_base import (
        OpenAIChatCompletionBase,
    )
    from semantic_kernel.connectors.ai.prompt_execution_settings import PromptExecutionSettings
    from semantic_kernel.contents import (
        AuthorRole,
        ChatHistory,
        ChatMessageContent,
        FunctionCallContent,
        FunctionResultContent,
        ImageContent,
        StreamingChatMessageContent,
        TextContent,
    )
    from semantic_kernel.exceptions import ServiceResponseException
    from semantic_kernel.filters.auto_function_invocation.auto_function_invocation_context import (
        AutoFunctionInvocationContext,
    )
    from semantic_kernel.filters.functions.function_invocation_context import (
        FunctionInvocationContext,
    )
    from semantic_kernel.functions import (
        FunctionResult,
        KernelArguments,
        KernelFunction,
        KernelFunctionMetadata,
        KernelParameterMetadata,
        KernelPlugin,
    )
    from semantic_kernel.kernel import Kernel

# What Semantic Kernel logs about a turn is in the turn's result and events; whoever wants its
# log too sets a level on this logger.
_log = logging.getLogger("semantic_kernel")
if _log.level == logging.NOTSET:
    _log.setLevel(logging.CRITICAL)

__all__ = [
    "AuthorRole",
    "AutoFunctionInvocationContext",
    "AzureChatCompletion",
    "AzureChatPromptExecutionSettings",
    "ChatCompletionAgent",
    "ChatCompletionClientBase",
    "ChatHistory",
    "ChatHistoryAgentThread",
    "ChatMessageContent",
    "FunctionCallChoiceConfiguration",
    "FunctionCallContent",
    "FunctionChoiceBehavior",
    "FunctionChoiceType",
    "FunctionInvocationContext",
    "FunctionResult",
    "FunctionResultContent",
    "ImageContent",
    "Kernel",
    "KernelArguments",
    "KernelFunction",
    "KernelFunctionMetadata",
    "KernelParameterMetadata",
    "KernelPlugin",
    "OpenAIChatCompletion",
    "OpenAIChatCompletionBase",
    "OpenAIChatPromptExecutionSettings",
    "PromptExecutionSettings",
    "ServiceResponseException",
    "StreamingChatMessageContent",
    "TextContent",
]
