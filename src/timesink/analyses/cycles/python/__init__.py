"""Cycles from Python calls: the program's loop, its layers, what is prefill and what decode."""
