"""Launches of kernels one by one: how long, how well each used the hardware, and why it ran."""
