"""Running Nsight Compute: every launch of a program measured, and written as one table."""
