"""Recordings of every format to the one trace model."""
