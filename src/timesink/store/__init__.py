"""Opening traces: from the cache when it has them, from the recording otherwise."""
