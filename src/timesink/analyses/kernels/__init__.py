"""Kernels: launches, names, families, use of the hardware, roofs, the join with a timeline.

What a kernel computes stands in `analyses/work`; advice in `rules`.
"""
