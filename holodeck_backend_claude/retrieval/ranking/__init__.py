"""What fits a query best: by keyword, by vector, and both fused."""
