"""An MCP server with one tool: how many of a thing are in stock."""

from mcp.server.fastmcp import FastMCP

STOCK = {"lamp": 12, "chair": 0}

server = FastMCP("stock", log_level="ERROR")


@server.tool()
def count(article: str) -> int:
    """How many of an article are in stock."""
    if article not in STOCK:
        raise ValueError(f"there is no article {article!r}; there are: {', '.join(STOCK)}")
    return STOCK[article]


if __name__ == "__main__":
    server.run()
