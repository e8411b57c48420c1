"""The same call for many items: helper processes, or a Ray cluster."""
