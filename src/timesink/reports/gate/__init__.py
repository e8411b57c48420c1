"""Whether a comparison passes: what fails a run, what cannot be judged, and why.

`judging.gate_of` makes a `gate.Gate` of a comparison, a `limit.Limit` and results of budgets.
"""
