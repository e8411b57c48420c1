"""`timesink kernels`: how well kernels use the hardware.

Counters and roofs are computed in `analyses/kernels`.
"""
