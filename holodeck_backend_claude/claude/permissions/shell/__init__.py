"""Command lines: which commands one runs, as far as that can be told before it runs."""
