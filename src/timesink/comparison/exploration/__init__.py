"""Many processes without a base: which of them behave alike, and how the groups differ.

Two sides are compared elsewhere in `compare`.
"""
