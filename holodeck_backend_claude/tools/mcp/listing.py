"""What a server offers, page by page; what is not in the protocol's form is left out by name."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from typing import Any, TypeVar

from mcp import types
from mcp.shared.exceptions import McpError
from pydantic import BaseModel, ValidationError

from holodeck_backend_claude.tools.mcp.errors import BadAnswerError, first_problem
from holodeck_backend_claude.tools.mcp.server import McpServer

MOST_ITEMS = 1_000
"""Of each kind, at most; what comes after is left out with a warning."""

MOST_PAGES = 1_000
MOST_BAD_ITEMS = 10_000
"""Of each kind, at most, before the list is given up."""

_TOLD = 5
"""How many bad items of a list are named each."""

Item = TypeVar("Item", bound=BaseModel)


class _Page(types.Result):
    """One page of any list; its items are checked one by one."""

    nextCursor: Any = None  # noqa: N815 - the protocol's name


async def list_tools(server: McpServer, log: logging.Logger) -> list[types.Tool]:
    """The tools of a server that can be offered.

    Raises:
        BadAnswerError: The list itself is not the protocol's.
        ServerLostError: The server went before it had listed them.
        McpError: It answered with an error.
    """
    if server.capabilities.tools is None:
        return []
    tools = await _all(server, types.ListToolsRequest, "tools", types.Tool, log=log)
    return [tool for tool in tools if not _needs_task(tool, server, log)]


async def list_prompts(server: McpServer, log: logging.Logger) -> list[types.Prompt]:
    """The prompts of a server; raises as :func:`list_tools` does."""
    if server.capabilities.prompts is None:
        return []
    return await _all(server, types.ListPromptsRequest, "prompts", types.Prompt, log=log)


async def list_resources(
    server: McpServer, log: logging.Logger
) -> tuple[list[types.Resource], list[types.ResourceTemplate]]:
    """Its resources and the templates for further ones; raises as :func:`list_tools` does."""
    resources = await _all(server, types.ListResourcesRequest, "resources", types.Resource, log=log)
    try:
        templates = await _all(
            server,
            types.ListResourceTemplatesRequest,
            "resourceTemplates",
            types.ResourceTemplate,
            log=log,
        )
    except McpError as error:
        if error.error.code != types.METHOD_NOT_FOUND:  # a server may have no templates at all
            raise
        templates = []
    return resources, templates


async def _all(
    server: McpServer, request: Any, key: str, kind: type[Item], *, log: logging.Logger
) -> list[Item]:
    items: list[Item] = []
    bad, full = 0, False
    async for page in _pages(server, request):
        for said in _items(page, key):
            try:
                item = kind.model_validate(said)
            except ValidationError as cause:
                bad += 1
                if bad <= _TOLD:
                    _tell_bad(said, cause, kind=kind, server=server, log=log)
                continue
            if len(items) == MOST_ITEMS:
                log.warning(
                    "the MCP server '%s' lists more than %d %s; the others are left out",
                    server.name, MOST_ITEMS, key,
                )  # fmt: skip
                full = True
                break
            items.append(item)
        if full or bad > MOST_BAD_ITEMS:
            break
    if bad > _TOLD:
        log.warning(
            "left out: %d more %s of the MCP server '%s' in another form than the protocol's",
            bad - _TOLD, key, server.name,
        )  # fmt: skip
    return items


async def _pages(server: McpServer, request: Any) -> AsyncIterator[_Page]:
    cursors: set[str] = set()
    cursor: str | None = None
    while len(cursors) < MOST_PAGES:
        params = types.PaginatedRequestParams(cursor=cursor) if cursor else None
        page = await server.request(request(params=params), _Page)
        yield page
        cursor = page.nextCursor
        if cursor is None or cursor == "":
            return
        if not isinstance(cursor, str) or cursor in cursors:
            raise BadAnswerError("its list does not come to an end: a page follows itself")
        cursors.add(cursor)
    raise BadAnswerError(f"its list does not come to an end: it has over {MOST_PAGES} pages")


def _items(page: _Page, key: str) -> Sequence[Any]:
    items = (page.model_extra or {}).get(key)
    if not isinstance(items, list):
        raise BadAnswerError(f"its list has no '{key}'")
    return items


def _tell_bad(
    said: Any,
    cause: ValidationError,
    *,
    kind: type[BaseModel],
    server: McpServer,
    log: logging.Logger,
) -> None:
    log.warning(
        "left out: %s %.80r of the MCP server '%s' is not in the protocol's form: %s",
        kind.__name__.lower(),
        said.get("name") if isinstance(said, dict) else said,
        server.name,
        first_problem(cause),
    )


def _needs_task(tool: types.Tool, server: McpServer, log: logging.Logger) -> bool:
    """Whether a tool can only be called in a way that was taken out of the protocol again."""
    needed = tool.execution is not None and tool.execution.taskSupport == "required"
    if needed:
        log.warning(
            "left out: tool '%s' of the MCP server '%s' can only run as a task",
            tool.name,
            server.name,
        )
    return needed
