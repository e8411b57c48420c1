"""Nsight Compute: what single kernels used of the hardware."""
