"""Faults to put in: what one is, and which there are, as data."""
