"""A plugin of somebody else: a tool type and a backend."""
