"""What each function costs in each cycle, and how loaded its resources are meanwhile."""
