"""The timeline of a trace behind the trace view: what is visible, what it is, where else it is.

How slices are laid out stands in `analyses/timeline`, how a window travels in `server`.
"""
