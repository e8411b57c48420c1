"""What changed between two runs: for the terminal, as Markdown and as CSV."""
