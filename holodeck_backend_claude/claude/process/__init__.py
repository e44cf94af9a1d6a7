"""One Claude Code process: what it is started with, where it lives, how it ends."""
