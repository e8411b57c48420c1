"""Runs of many ranks, generated: what happened is known, so that analyses can be measured.

A plan says what is slow; nothing here analyses what was generated.
"""
