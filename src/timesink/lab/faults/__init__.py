"""Faults to put in: one file each, as data, and a line in `registry`."""
