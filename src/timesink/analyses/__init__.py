"""Answers computed from a trace: pure functions, one question per file."""
