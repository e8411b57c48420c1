"""Running Nsight Compute."""
