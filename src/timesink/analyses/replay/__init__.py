"""Playing a recording again: what depends on what, and when it would be done."""
