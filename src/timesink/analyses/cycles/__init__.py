"""The repeating unit of a run: which it is, where each of its cycles begins and ends."""
