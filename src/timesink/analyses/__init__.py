"""Answers computed from a trace: pure functions, one question per file.

What to say about them and what to advise stands in `rules` and `answers`.
"""
