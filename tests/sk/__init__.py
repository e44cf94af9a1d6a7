"""Tests of the Semantic Kernel backend, against a scripted OpenAI-compatible API."""
