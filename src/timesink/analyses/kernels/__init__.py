"""Kernels: launches, names, families, use of the hardware, roofs, the join with a timeline."""
