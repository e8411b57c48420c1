"""The one noise model: what measurements tell, whoever measured them.

Functions of arrays live here, named as textbooks name them; runs, steps and thresholds of a
question do not.
"""
