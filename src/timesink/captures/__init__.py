"""Names for work that graphs replay: what a program called while they were captured.

Captures come from traces or files beside a recording; here they are matched to its replays.
"""
