"""Pictures of how well kernels use the hardware, one file per picture."""
