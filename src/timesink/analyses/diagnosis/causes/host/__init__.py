"""Causes in the code of the host: more calls, longer ones, pauses, waits."""
