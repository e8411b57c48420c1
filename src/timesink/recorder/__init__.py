"""Measuring programs while they run, with the standard library alone."""
