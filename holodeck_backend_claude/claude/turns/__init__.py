"""The SDK's messages of one turn, made into typed events and a result."""
