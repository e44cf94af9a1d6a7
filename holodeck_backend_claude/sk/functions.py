"""The agent's tools as kernel functions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import PrivateAttr

from holodeck_backend_claude.contract import JsonSchema
from holodeck_backend_claude.sk._imports import (
    FunctionInvocationContext,
    FunctionResult,
    KernelArguments,
    KernelFunction,
    KernelFunctionMetadata,
    KernelParameterMetadata,
    KernelPlugin,
)

if TYPE_CHECKING:
    from holodeck_backend_claude.calls import BoundTool

PLUGIN = "tools"
_SCHEMA = "input_schema"
_PARAMETER_NAME = re.compile(r"^[0-9A-Za-z_-]+$")


class CallArguments(KernelArguments):
    """The arguments of one call, and the ids of the call and its conversation.

    Filled after construction, because a parameter of a tool may be called ``settings``, which
    ``KernelArguments`` takes for its own.
    """

    def __init__(self, arguments: Mapping[str, Any], *, call_id: str, session_id: str) -> None:
        super().__init__()
        self.update(arguments)
        self.call_id = call_id
        self.session_id = session_id


class ToolFunction(KernelFunction):
    """A tool as a kernel function: all arguments reach the tool as the model wrote them.

    Semantic Kernel's own functions fill parameters called ``kernel``, ``service`` or
    ``arguments`` with its internals, and know no schema beyond a list of parameters.
    """

    _tool: BoundTool = PrivateAttr()

    def __init__(self, name: str, tool: BoundTool) -> None:
        super().__init__(metadata=_metadata(name, tool))
        self._tool = tool

    @property
    def tool(self) -> BoundTool:
        """The tool behind the function."""
        return self._tool

    async def _invoke_internal(self, context: FunctionInvocationContext) -> None:
        asked = context.arguments
        result = await self._tool.call(
            dict(asked),
            call_id=getattr(asked, "call_id", None),
            session_id=getattr(asked, "session_id", None),
        )
        context.result = FunctionResult(function=self.metadata, value=result)

    async def _invoke_internal_stream(self, context: FunctionInvocationContext) -> None:
        await self._invoke_internal(context)


def tool_plugin(tools: Mapping[str, BoundTool]) -> KernelPlugin:
    """The tools, by their names on the wire, as one plugin."""
    return KernelPlugin(
        name=PLUGIN, functions=[ToolFunction(name, tool) for name, tool in tools.items()]
    )


def input_schema(metadata: KernelFunctionMetadata) -> JsonSchema:
    """The complete schema of a tool's arguments, as its adapter declares it."""
    schema: JsonSchema = (metadata.additional_properties or {})[_SCHEMA]
    return schema


def _metadata(name: str, tool: BoundTool) -> KernelFunctionMetadata:
    schema = tool.schema
    return KernelFunctionMetadata(
        name=name,
        description=tool.description,
        parameters=_parameters(schema),
        is_prompt=False,
        is_asynchronous=True,
        additional_properties={_SCHEMA: schema},
    )


def _parameters(schema: JsonSchema) -> list[KernelParameterMetadata]:
    """The parameters as far as Semantic Kernel can name them; the model gets the schema itself."""
    required = set(schema.get("required", ()))
    properties: dict[str, Any] = schema.get("properties", {})
    return [
        KernelParameterMetadata(
            name=name,
            description=part.get("description"),
            is_required=name in required,
            schema_data=part,
        )
        for name, part in properties.items()
        if _PARAMETER_NAME.match(name) and isinstance(part, dict)
    ]
