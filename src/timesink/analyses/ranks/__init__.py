"""The ranks of one run: clocks, collectives, who waits for whom, who is late and why.

What is said of a single rank alone stands outside; reading files and wording do not belong here.
"""
