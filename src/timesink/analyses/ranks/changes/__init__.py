"""What changed between two runs of many ranks."""
