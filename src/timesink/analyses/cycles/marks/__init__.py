"""Cycles from marks: profiler steps, annotations, events that a user names."""
