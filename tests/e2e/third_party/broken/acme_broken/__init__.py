"""A plugin of somebody else that does not work."""
