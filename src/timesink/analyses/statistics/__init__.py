"""Tests that say whether two sets of measurements differ, for many pairs of sets at once."""
