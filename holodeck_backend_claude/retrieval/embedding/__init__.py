"""Who turns text into vectors: the local model, or an embedding service."""
