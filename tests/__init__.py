"""The tests; a package so that its folders can share ``tests/support``."""
