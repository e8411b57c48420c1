"""Blocks of device memory, as a memory snapshot knows them: what they are for, and what grows.

From tables to tables; how a snapshot is read stands in `formats`, what is said of it in `answers`.
"""
