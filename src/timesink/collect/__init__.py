"""Measuring programs while they run: what is found is written to files that `readers` read.

Only the standard library is used here, so that a machine with a GPU needs nothing else.
"""
