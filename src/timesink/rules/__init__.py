"""Rules that turn what was measured into findings; `registry.py` lists them, by question."""
