"""The tool type ``mcp``: connects to a server, lists what it offers, and adapts it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp import types
from mcp.shared.exceptions import McpError

from holodeck_backend_claude.contract import BackendInitError
from holodeck_backend_claude.tools.mcp.adapters import (
    McpAdapter,
    McpPromptAdapter,
    McpReadResourceAdapter,
    McpToolAdapter,
)
from holodeck_backend_claude.tools.mcp.errors import BadAnswerError, ServerLostError, reason_of
from holodeck_backend_claude.tools.mcp.listing import list_prompts, list_tools
from holodeck_backend_claude.tools.mcp.naming import Names
from holodeck_backend_claude.tools.mcp.resources import McpListResourcesAdapter
from holodeck_backend_claude.tools.mcp.server import McpServer

if TYPE_CHECKING:
    from holodeck_backend_claude.config import MCPTool
    from holodeck_backend_claude.hookspecs import ToolContext


@dataclass(frozen=True)
class OpenServer:
    """A connected server and what it offers."""

    server: McpServer
    tools: Sequence[types.Tool]
    prompts: Sequence[types.Prompt]
    log: logging.Logger


@asynccontextmanager
async def open_mcp(config: MCPTool, context: ToolContext) -> AsyncIterator[OpenServer | None]:
    """Connect to a server and list what it offers.

    Yields None where an optional server could not be started.

    Raises:
        BackendInitError: A server that is not optional could not be started, or env_file is wrong.
    """
    server = McpServer(config, base_dir=context.base_dir, log=context.log)
    try:
        opened = await _opened(server, config, context.log)
    except BackendInitError as error:
        await server.close()
        if not config.optional:
            raise
        context.log.warning("the agent runs without it: %s", error)
        yield None
        return
    except BaseException:
        await server.close()
        raise
    try:
        yield opened
    finally:
        await server.close()


async def _opened(server: McpServer, config: MCPTool, log: logging.Logger) -> OpenServer:
    try:
        await server.open()
        async with asyncio.timeout(config.timeout):
            tools = await list_tools(server, log) if config.load_tools else []
            prompts = await list_prompts(server, log) if config.load_prompts else []
    except ServerLostError as lost:
        raise BackendInitError(str(lost)) from lost
    except (McpError, BadAnswerError, TimeoutError) as cause:
        slow = isinstance(cause, TimeoutError)
        why = (
            f"it did not list what it has within {config.timeout:g} s" if slow else reason_of(cause)
        )
        raise server.failed_to_start(why) from cause
    return OpenServer(server, tools, prompts, log)


def adapters(_config: MCPTool, opened: OpenServer | None) -> list[McpAdapter]:
    """One adapter per tool of the server, and those of its prompts and resources."""
    return [] if opened is None else list(_adapters(opened))


def _adapters(opened: OpenServer) -> Iterator[McpAdapter]:
    server, log = opened.server, opened.log
    names = Names(server.name)
    tool_names = names.take([tool.name for tool in opened.tools])
    for tool, name in zip(opened.tools, tool_names, strict=True):
        if name is None:
            log.warning("left out: '%s' lists the tool '%s' twice", server.name, tool.name)
        else:
            yield McpToolAdapter(server, name, tool)
    prompt_names = names.take([f"prompt_{prompt.name}" for prompt in opened.prompts])
    for prompt, name in zip(opened.prompts, prompt_names, strict=True):
        if name is None:
            log.warning("left out: '%s' lists the prompt '%s' twice", server.name, prompt.name)
        else:
            yield McpPromptAdapter(server, name, prompt)
    if server.config.load_prompts and server.capabilities.resources is not None:
        yield McpListResourcesAdapter(server, names.free("list_resources"), log)
        yield McpReadResourceAdapter(server, names.free("read_resource"))


def instructions(config: MCPTool) -> str:
    """What agent.yaml says about the server, for the system prompt."""
    return f"The tools of '{config.name}': {config.description}"
