"""`timesink kernels`: how well kernels use the hardware."""
