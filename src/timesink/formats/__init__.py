"""Formats of recordings: a folder or file for each, reader and writer beside each other."""
