"""What each function costs in each cycle, what cycles are made of, and how loaded resources are."""
