"""``type: mcp``: the tools of an MCP server, over a connection of this process.

``opening.py`` is what the tool type is made of: ``open_mcp`` connects and lists, ``adapters``
gives one adapter per tool of the server, ``instructions`` the line for the system prompt.
"""
