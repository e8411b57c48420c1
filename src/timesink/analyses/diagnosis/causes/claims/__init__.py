"""What rules say, and how much of it is there."""
