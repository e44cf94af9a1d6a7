"""The index on disk: files, chunks, keywords and vectors in one SQLite file."""
