"""The repeating unit of a run: how it is searched for, and where each of its cycles lies.

What happens inside of a cycle stands in `analyses/behaviour` and `analyses/steps`.
"""
