"""Judging diagnoses of recordings whose fault is known."""
