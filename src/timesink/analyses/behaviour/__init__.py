"""What each function costs in each cycle, and the parts of time that make up a cycle.

Where cycles begin and end is found in `analyses/cycles`; what changed between runs in `comparison`.
"""
