"""What can go wrong, each cause with what is expected of it; ``make faults`` prints the table."""
