"""The same call for many items: helper processes, or a Ray cluster.

Nothing here knows what a trace is.
"""
