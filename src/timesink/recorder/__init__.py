"""Measuring programs while they run, with the standard library alone.

Nothing here reads a recording, but what the recorder itself left.
"""
