"""The picture of a recording over time: tracks, lanes, levels of detail, arrows and overlays.

What a window of it looks like as bytes for a browser stands in the answers.
"""
