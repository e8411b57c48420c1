"""Counters of the host, one source per file: what the Linux kernel tells in /proc and /sys."""
