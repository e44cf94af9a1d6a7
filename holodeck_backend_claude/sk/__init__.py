"""The Semantic Kernel plugin; importing it loads nothing of Semantic Kernel."""
