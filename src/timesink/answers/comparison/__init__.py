"""What changed between runs: which processes are compared, and the answer as plain data."""
