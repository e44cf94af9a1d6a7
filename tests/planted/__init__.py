"""Secrets planted wherever an agent can have one, and the places that are searched for them."""
