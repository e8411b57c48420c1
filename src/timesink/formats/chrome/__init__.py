"""Kineto and other Chrome-format JSON."""
