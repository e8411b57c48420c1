"""What changed between runs, and why: changes, causes and verdicts of two sides, as plain data.

Nothing here words, draws or writes an answer: `answers/comparison` does.  What one run says of
itself is in `analyses` and `rules`.
"""
