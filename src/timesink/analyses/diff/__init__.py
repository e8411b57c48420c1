"""Two programs side by side: the calls their cycles make, what differs, and where."""
