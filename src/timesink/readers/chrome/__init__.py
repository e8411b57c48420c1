"""Kineto and other Chrome-format JSON traces, of every vendor."""
