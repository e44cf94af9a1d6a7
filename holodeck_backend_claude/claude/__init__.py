"""The Claude plugin: a HoloDeck agent on the Claude Agent SDK.

``plugin.py`` is what the entry point names; the rest loads when an agent runs.
"""
