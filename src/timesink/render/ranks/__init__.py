"""Ranks of a run, for people."""
