"""Causes in the work that the device is given."""
