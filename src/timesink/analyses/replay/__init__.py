"""The recording as a graph of what waits for what, and that graph played again, as it was or not.

Guessing times without a graph, and saying what to change, stand elsewhere.
"""
