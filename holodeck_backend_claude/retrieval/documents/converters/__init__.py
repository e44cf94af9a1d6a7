"""Documents of many kinds to Markdown: each module has ``convert(data) -> str``."""
