"""Vector stores outside of the index file: what one is, and the one that agent.yaml names."""

from holodeck_backend_claude.retrieval.stores.contract import StoreError, VectorStore
from holodeck_backend_claude.retrieval.stores.opening import make_store

__all__ = ["StoreError", "VectorStore", "make_store"]
