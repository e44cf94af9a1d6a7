"""The built-in tool types, and the opening of any agent's tools.

``plugin.py`` is what the core loads; the rest is imported when an agent runs, so this file imports
nothing. Backends use ``open_tools.OpenTools``; adapters under the call policy are in ``calls``.
"""
