"""Nsight Compute: what single kernels used of the hardware, in every layout `ncu` writes.

Running `ncu` stands in `recorder/ncu`, which this may ask only to export a report.
"""
