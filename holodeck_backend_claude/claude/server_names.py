"""The names that Claude Code has for servers and their tools.

The tools of an MCP server come in a server of that name, so that the model knows them as
``mcp__<server>__<tool>``; all other tools are in ``holodeck_tools``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from holodeck_backend_claude.calls import BoundTool, legal_name, wire_names
from holodeck_backend_claude.claude.server import SERVER_NAME
from holodeck_backend_claude.contract import BackendInitError

_LONGEST_SERVER_NAME = 32  # of the 64 characters that a whole name may have


def full_names(tools: Sequence[BoundTool]) -> dict[str, BoundTool]:
    """The tools by the names Claude Code has for them, in their order.

    Raises:
        BackendInitError: Two tools or two servers come to the same name; both are named.
    """
    wire_names(tools, "")  # results and agent.yaml tell tools apart by their own names
    servers: dict[str, list[BoundTool]] = {}
    for tool in tools:
        servers.setdefault(_server_of(tool), []).append(tool)
    check_server_names([server for server in servers if server])
    names: dict[int, str] = {}
    for server, its_tools in servers.items():
        prefix = f"mcp__{server_name(server) if server else SERVER_NAME}__"
        for name, tool in wire_names(its_tools, prefix, name_of=_name_in_server).items():
            names[id(tool)] = prefix + name
    return {names[id(tool)]: tool for tool in tools}


def server_name(text: str) -> str:
    """The name of a server on the wire; no ``__`` in it, which ends it in a full name."""
    return re.sub("_{2,}", "_", legal_name(text, _LONGEST_SERVER_NAME)).strip("_") or "server"


def check_server_names(names: Sequence[str]) -> None:
    """Refuse servers of agent.yaml that would have one name on the wire, or that of ours.

    Raises:
        BackendInitError: Both are named.
    """
    taken: dict[str, str] = {SERVER_NAME: ""}
    for name in names:
        wire = server_name(name)
        if wire in taken:
            other = (
                f"the server '{taken[wire]}'" if taken[wire] else "the server of all other tools"
            )
            raise BackendInitError(
                f"the MCP server '{name}' and {other} would both be called '{wire}' by Claude "
                "Code; give it another name in agent.yaml"
            )
        taken[wire] = name


def _server_of(tool: BoundTool) -> str:
    """The MCP server that a tool's adapter says it is of; empty for a tool of ours."""
    server = getattr(tool.adapter, "mcp_server", None)
    return server if isinstance(server, str) else ""


def _name_in_server(tool: BoundTool) -> str:
    name = getattr(tool.adapter, "name_in_server", None)
    return name if isinstance(name, str) and _server_of(tool) else tool.name
