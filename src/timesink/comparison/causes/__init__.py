"""Why two sides differ: each rule claims a part of the change; the rest is unexplained.

Nothing here finds out whether they differ (`compare/steps`) or reads a file.
"""
