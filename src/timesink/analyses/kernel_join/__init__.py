"""Counters of kernels joined with a timeline of the same program, launch by launch."""
