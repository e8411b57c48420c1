"""Resources that are less there for a process than they were, found by their counters."""
