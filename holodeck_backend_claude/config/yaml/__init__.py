"""YAML as plain data with the place of every value, and nothing that could explode."""
