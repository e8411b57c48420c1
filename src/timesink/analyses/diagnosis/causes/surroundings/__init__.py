"""Causes around the process: resources that are less there, or there again."""
