"""Perfetto traces (`.pftrace`), read and written: packets, tracks, events, and archives of ranks.

What an event means is left to the tables of Chrome JSON, which this brings them to.
"""
