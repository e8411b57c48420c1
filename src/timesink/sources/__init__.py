"""Where recordings come from, and the cache they are opened through."""
