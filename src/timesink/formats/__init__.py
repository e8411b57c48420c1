"""Formats of recordings: a folder or file for each, reader and writer beside each other.

What a recording means is not decided here, nor where it comes from.
"""
