"""Running Nsight Compute: what to measure of which program, and what to do where it refuses.

Reading what it wrote stands in `formats/ncu`.
"""
