"""What changed between runs, in words, JSON and pages.

What did change is found in `comparison`.
"""
