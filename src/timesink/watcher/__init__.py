"""Watching a program: what its steps should take, the process that judges them, what it reports.

Others import `watcher.interface` alone; what runs inside the watched program stands in `recorder`.
"""
