"""What steps of a workload should take: learned from healthy ones, with limits held out runs gave.

Nothing here knows of processes, folders or recordings; it judges rows of steps.
"""
