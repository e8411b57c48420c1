"""`timesink analyze`: where the time of a run goes.

Its tables are computed in `analyses`, its findings in `rules`.
"""
