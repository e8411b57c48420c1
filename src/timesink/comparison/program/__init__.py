"""What the programs of two sides do, exactly: calls per step, aligned, and where they differ.

Nothing here knows times or noise, nor what a difference means: that is in `compare/causes`.
"""
