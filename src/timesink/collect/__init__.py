"""Running profilers: what is measured is written to files that `readers` read.

Only the standard library is used here, so that a machine with a GPU needs nothing else.
"""
