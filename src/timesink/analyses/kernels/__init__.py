"""Kernels: by name, by operator and launch, and whether they use tensor cores."""
