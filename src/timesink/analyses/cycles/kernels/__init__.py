"""Cycles from the kernel sequence alone."""
