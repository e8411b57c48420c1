"""Runs kept small under a name, to compare others with: `timesink compare @NAME RUN`.

`keeping` saves, loads, lists and removes them; a `baseline.Baseline`, or its name as `"@NAME"`, is
taken by `timesink.compare` wherever a path is.
"""
