"""What a trace is made of: tables and their columns, vendors' words, findings, health, times.

Nothing here reads a recording or computes an answer; all else may import it.
"""
